// Asks for match conditions where a webhook has some; the language that they are written in is loaded then, not before.
import type { Authorizer } from '../../authorization/authorizer.ts';
import type { AdmissionRequest } from '../admission.ts';
import type { Invocation } from './matcher.ts';
import type { WebhookObjects } from './webhook-caller.ts';

export class ConditionChecks {
  readonly #authorizer: Authorizer;
  constructor(authorizer: Authorizer) {
    this.#authorizer = authorizer;
  }

  /** Whether the webhook is to be asked. Throws StatusError. */
  async hold(request: AdmissionRequest, invocation: Invocation, objects: WebhookObjects): Promise<boolean> {
    if (invocation.webhook.conditions.length === 0) return true;
    const { MatchConditions } = await import('./match-conditions.ts');
    return new MatchConditions(this.#authorizer).hold(request, invocation, objects);
  }
}
