// Asks authorizers in order: the first that allows or denies decides.
import type { AuthorizationDecision, Authorizer } from '../../apiserver/authorization/authorizer.ts';

export function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer {
  return {
    async authorize(attributes): Promise<AuthorizationDecision> {
      const reasons: string[] = [];
      const errors: string[] = [];
      for (const authorizer of authorizers) {
        const answer = authorizer.authorize(attributes);
        const decision = answer instanceof Promise ? await answer : answer;
        if (decision.decision !== 'no-opinion') return decision;
        if (decision.reason !== '') reasons.push(decision.reason);
        if (decision.error !== undefined && !errors.includes(decision.error)) errors.push(decision.error);
      }
      const error = errors.length > 1 ? `[${errors.join(', ')}]` : errors[0];
      return {
        decision: 'no-opinion',
        reason: reasons.join('\n'),
        ...(error === undefined ? {} : { error }),
      };
    },
    rulesFor(user, namespace) {
      const all = authorizers.flatMap((authorizer) => authorizer.rulesFor?.(user, namespace) ?? []);
      return {
        rules: all.flatMap(({ rules }) => rules),
        incomplete: all.some(({ incomplete }) => incomplete),
        errors: all.flatMap(({ errors }) => errors),
      };
    },
  };
}
