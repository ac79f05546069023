// Asks all validating webhooks of a request at once; the first that refuses tells why.

import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { internalError, isStatusError } from '../../../apimachinery/errors.ts';
import type { AdmissionRequest } from '../admission.ts';
import type { ConditionChecks } from './condition-checks.ts';
import type { FailurePolicy } from './failure-policy.ts';
import { convert, type Invocation, type Seen, type WebhookMatcher } from './matcher.ts';
import type { Webhook } from './webhook.ts';
import type { WebhookCaller, WebhookObjects } from './webhook-caller.ts';

export interface DispatchDeps {
  readonly matcher: WebhookMatcher;
  readonly conditions: ConditionChecks;
  readonly caller: WebhookCaller;
  readonly policy: FailurePolicy;
}

/** The request's objects as a webhook or a policy sees them. */
export async function objectsFor(
  request: AdmissionRequest,
  { seen }: Pick<Seen, 'seen'>,
): Promise<WebhookObjects> {
  const { declaration, object, oldObject } = request;
  if (declaration === seen) return { object, oldObject };
  const as = async (one: JsonObject | undefined): Promise<JsonObject | undefined> =>
    one === undefined ? undefined : convert(one, declaration, seen);
  return { object: await as(object), oldObject: await as(oldObject) };
}

/** Throws StatusError. */
export async function dispatchValidating(
  { matcher, conditions, caller, policy }: DispatchDeps,
  request: AdmissionRequest,
  webhooks: readonly Webhook[],
): Promise<void> {
  const calls: { invocation: Invocation; objects: WebhookObjects }[] = [];
  for (const webhook of webhooks) {
    const invocation = matcher.match(webhook, request);
    if (invocation === undefined) continue;
    const objects = await objectsFor(request, invocation);
    if (await conditions.hold(request, invocation, objects)) calls.push({ invocation, objects });
  }
  if (calls.length === 0) return;
  caller.timeLeft(request);
  const refusals: unknown[] = [];
  const asked = (): Promise<unknown> =>
    Promise.all(
      calls.map(async ({ invocation, objects }, index) => {
        try {
          await policy(
            {
              request,
              webhook: invocation.webhook,
              phase: 'validating',
              failedOpenKey: `failed-open.validating.webhook.admission.k8s.io/round_0_index_${index}`,
            },
            () => caller.call(request, invocation, objects, false),
          );
        } catch (error) {
          refusals.push(error);
        }
      }),
    );
  await (request.aside === undefined ? asked() : request.aside(asked));
  const [first] = refusals;
  if (first !== undefined) throw isStatusError(first) ? first : internalError(first);
}
