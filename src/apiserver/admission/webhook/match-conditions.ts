// Whether the match conditions of a webhook hold for a request: expressions of its author, which may fail or cost too much.
import { forbidden } from '../../../apimachinery/errors.ts';
import type { Authorizer } from '../../authorization/authorizer.ts';
import type { AdmissionRequest } from '../admission.ts';
import { answersAbout } from '../authorizer-answers.ts';
import { aggregated, conditionsHold, OutOfBudgetError } from '../expression-run.ts';
import { type CompiledExpression, compiledCondition } from '../expressions.ts';
import type { Invocation } from './matcher.ts';
import type { Webhook } from './webhook.ts';
import type { WebhookObjects } from './webhook-caller.ts';

/** By the webhook that has them. */
const compiled = new WeakMap<Webhook, readonly CompiledExpression[]>();

function conditionsOf(webhook: Webhook): readonly CompiledExpression[] {
  const known = compiled.get(webhook);
  if (known !== undefined) return known;
  const conditions = webhook.conditions.map(compiledCondition);
  compiled.set(webhook, conditions);
  return conditions;
}

export class MatchConditions {
  readonly #authorizer: Authorizer;
  constructor(authorizer: Authorizer) {
    this.#authorizer = authorizer;
  }

  /** Throws 403 when that can't be said, and the webhook's failurePolicy is Fail. */
  async hold(request: AdmissionRequest, invocation: Invocation, objects: WebhookObjects): Promise<boolean> {
    const { webhook } = invocation;
    const answers = answersAbout(request, this.#authorizer);
    const verdict = await conditionsHold(conditionsOf(webhook), {
      request,
      seen: invocation,
      objects,
      answers,
    }).catch((error: unknown) => {
      if (error instanceof OutOfBudgetError) return [error.message];
      throw error;
    });
    if (typeof verdict === 'boolean') return verdict;
    if (webhook.failsOpen) return false;
    throw forbidden(request.declaration, request.name, aggregated(verdict));
  }
}
