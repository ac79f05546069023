// Asks the mutating webhooks of a request one after the other, each with what those before it made of the object.
import type { Scheme } from '../../../apimachinery/declaration.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { internalError, isStatusError } from '../../../apimachinery/errors.ts';
import { copyJson, objs } from '../../../apimachinery/json-access.ts';
import { parseJsonText } from '../../../apimachinery/serializer/json-text.ts';
import type { AdmissionRequest } from '../admission.ts';
import { askAgain, type Rounds } from '../rounds.ts';
import { convert, type Invocation } from './matcher.ts';
import { patchedByWebhook } from './patched-by-webhook.ts';
import type { AdmissionAnswer } from './review-answer.ts';
import { type DispatchDeps, objectsFor } from './validating-dispatch.ts';
import type { Webhook } from './webhook.ts';

const annotation = 'mutation.webhook.admission.k8s.io/';
const patchAnnotation = 'patch.webhook.admission.k8s.io/';

export class MutatingDispatch {
  readonly #deps: DispatchDeps;
  readonly #scheme: Scheme;
  readonly #rounds = new WeakMap<AdmissionRequest, Rounds>();

  constructor(deps: DispatchDeps & { readonly scheme: Scheme }) {
    this.#deps = deps;
    this.#scheme = deps.scheme;
  }

  /** Changes `request.object`. Throws StatusError. */
  async dispatch(request: AdmissionRequest, webhooks: readonly Webhook[]): Promise<void> {
    const rounds = this.#rounds.get(request) ?? { asked: new Set(), again: new Set(), left: undefined };
    this.#rounds.set(request, rounds);
    const { reinvocation } = request;
    // Then the plugins have changed it, which were asked again as well.
    if (reinvocation.again && !semanticEqual(rounds.left, request.object)) askAgain(rounds);
    for (const [index, webhook] of webhooks.entries()) {
      const invocation = this.#deps.matcher.match(webhook, request);
      if (invocation === undefined || (reinvocation.again && !rounds.again.has(webhook.id))) continue;
      const objects = await objectsFor(request, invocation);
      if (!(await this.#deps.conditions.hold(request, invocation, objects))) continue;
      if (await this.#ask(request, invocation, index)) {
        askAgain(rounds);
        reinvocation.wanted = true;
      }
      if (webhook.reinvoked) rounds.asked.add(webhook.id);
    }
    if (reinvocation.wanted && !reinvocation.again) rounds.left = copyJson(request.object);
  }

  /** Whether it changed the object. */
  async #ask(request: AdmissionRequest, invocation: Invocation, index: number): Promise<boolean> {
    const { caller, policy } = this.#deps;
    const { webhook } = invocation;
    const round = `round_${request.reinvocation.again ? 1 : 0}_index_${index}`;
    const place = `${annotation}${round}`;
    let mutated = false;
    try {
      await policy({ request, webhook, phase: 'admit', failedOpenKey: `failed-open.${place}` }, async () => {
        mutated = await this.#mutate(request, invocation, `${patchAnnotation}${round}`);
      });
    } catch (error) {
      throw isStatusError(error) ? error : internalError(error);
    } finally {
      const { configuration, name } = webhook;
      request.annotate(place, JSON.stringify({ configuration, webhook: name, mutated }));
    }
    caller.timeLeft(request);
    return mutated;
  }

  async #mutate(request: AdmissionRequest, invocation: Invocation, patchKey: string): Promise<boolean> {
    const objects = await objectsFor(request, invocation);
    const ask = (): Promise<AdmissionAnswer> => this.#deps.caller.call(request, invocation, objects, true);
    const answer = await (request.aside === undefined ? ask() : request.aside(ask));
    const { declaration } = request;
    const patched = await patchedByWebhook(this.#scheme, invocation, request, objects.object, answer);
    if (patched === undefined) return false;
    request.annotateContent(patchKey, () => patchText(invocation, answer));
    request.object = await convert(patched, invocation.seen, declaration);
    if (request.object !== patched) request.isConverted = true;
    return !semanticEqual(objects.object, patched);
  }
}

/** As Go writes it: the members of each operation by their names. */
function patchText({ webhook }: Invocation, answer: AdmissionAnswer): string {
  const patch = objs(parseJsonText(answer.patch).value).map((operation) =>
    Object.fromEntries(Object.entries(operation).sort(([a], [b]) => (a < b ? -1 : 1))),
  );
  const { configuration, name } = webhook;
  return JSON.stringify({ configuration, webhook: name, patch, patchType: 'JSONPatch' });
}
