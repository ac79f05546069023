// Whether the match conditions of a webhook hold for a request: expressions of its author, which may fail or cost too much.

import { forbidden } from '../../../apimachinery/errors.ts';
import { jsonValue, schemaValue } from '../../../cel/json-values.ts';
import { AuthzAnswers, authorizerValue, requestResourceValue } from '../../../cel/libraries/authz.ts';
import type { Program } from '../../../cel/program.ts';
import { CelError } from '../../../cel/value.ts';
import type { AuthorizationAttributes, Authorizer } from '../../authorization/authorizer.ts';
import type { AdmissionRequest } from '../admission.ts';
import { compiledCondition, requestType } from '../expressions.ts';
import { type Invocation, namespaceOf } from './matcher.ts';
import { reviewedRequest } from './review-builder.ts';
import type { Webhook } from './webhook.ts';
import type { WebhookObjects } from './webhook-caller.ts';

/** Upstream's PerCallLimit and RuntimeCELCostBudgetMatchConditions. */
const costOfOne = 1_000_000;
const costOfAll = 2_500_000;

const overBudget =
  'validation failed due to running out of cost budget, no further validation rules will be run';

/** By the webhook that has them. */
const compiled = new WeakMap<Webhook, readonly (Program | string)[]>();

function programsOf(webhook: Webhook): readonly (Program | string)[] {
  const known = compiled.get(webhook);
  if (known !== undefined) return known;
  const programs = webhook.conditions.map(compiledCondition);
  compiled.set(webhook, programs);
  return programs;
}

export class MatchConditions {
  readonly #authorizer: Authorizer;
  constructor(authorizer: Authorizer) {
    this.#authorizer = authorizer;
  }

  /** Throws 403 when that can't be said, and the webhook's failurePolicy is Fail. */
  async hold(request: AdmissionRequest, invocation: Invocation, objects: WebhookObjects): Promise<boolean> {
    const { failsOpen } = invocation.webhook;
    const verdict = await this.#verdict(request, invocation, objects);
    if (typeof verdict === 'boolean') return verdict;
    if (failsOpen) return false;
    const why = verdict.length === 1 ? verdict[0]! : `[${verdict.join(', ')}]`;
    throw forbidden(request.declaration, request.name, why);
  }

  /** A list: what went wrong, where no condition says no. */
  async #verdict(
    request: AdmissionRequest,
    invocation: Invocation,
    objects: WebhookObjects,
  ): Promise<boolean | readonly string[]> {
    const answers = this.#answers(request);
    const { group, resource } = invocation.seen;
    const { subresource, name } = request;
    const checked = { group, resource, subresource, namespace: namespaceOf(request), name };
    const variables = {
      object: jsonValue(objects.object),
      oldObject: jsonValue(objects.oldObject),
      request: schemaValue(reviewedRequest(request, invocation), requestType),
      authorizer: authorizerValue(answers),
      'authorizer.requestResource': requestResourceValue(answers, checked),
    };
    const errors: string[] = [];
    let left = costOfAll;
    for (const [index, program] of programsOf(invocation.webhook).entries()) {
      const expression = invocation.webhook.conditions[index]!;
      if (typeof program === 'string') {
        errors.push(`compilation error: ${program}`);
        continue;
      }
      const { value, cost } = await answers.settle(() =>
        program.run(variables, { cost: Math.min(costOfOne, left) }),
      );
      left -= cost;
      if (value === false) return false;
      if (left <= 0) return [overBudget];
      if (value instanceof CelError)
        errors.push(`expression '${expression}' resulted in error: ${value.message}`);
      else if (value !== true) errors.push(`expression '${expression}' did not evaluate to a bool`);
    }
    return errors.length === 0 ? true : errors;
  }

  /** What expressions ask about the user. */
  #answers({ user }: AdmissionRequest): AuthzAnswers {
    return new AuthzAnswers(async (question) => {
      const { serviceAccount, verb, path = '', group = '', resource = '', subresource = '' } = question;
      const { namespace = '', name = '' } = question;
      const account = serviceAccount && `system:serviceaccount:${serviceAccount.namespace}`;
      const attributes: AuthorizationAttributes = {
        user:
          serviceAccount === undefined
            ? user
            : {
                name: `${account}:${serviceAccount.name}`,
                groups: [
                  'system:serviceaccounts',
                  `system:serviceaccounts:${serviceAccount.namespace}`,
                  'system:authenticated',
                ],
              },
        verb,
        isResource: path === '',
        group,
        version: '*',
        resource,
        subresource,
        namespace,
        name,
        path,
      };
      const { decision, reason } = await this.#authorizer.authorize(attributes);
      return { allowed: decision === 'allow', reason };
    });
  }
}
