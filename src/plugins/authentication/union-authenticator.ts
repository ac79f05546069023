// Asks authenticators in order; whoever is known also belongs to system:authenticated.
import { StatusError } from '../../apimachinery/errors.ts';
import type { Authenticator, UserInfo } from '../../apiserver/authentication/authenticator.ts';

const authenticated = 'system:authenticated';
const unauthenticated = 'system:unauthenticated';

function withAuthenticatedGroup(user: UserInfo): UserInfo {
  return user.groups.includes(authenticated) || user.groups.includes(unauthenticated)
    ? user
    : { ...user, groups: [...user.groups, authenticated] };
}

/** A refusal of one is kept until all were asked, as upstream: another credential may still be good. */
export function unionAuthenticator(authenticators: readonly Authenticator[]): Authenticator {
  return {
    async authenticate(request) {
      let refusal: StatusError | undefined;
      for (const authenticator of authenticators) {
        try {
          const answer = authenticator.authenticate(request);
          const user = answer instanceof Promise ? await answer : answer;
          if (user !== undefined) return withAuthenticatedGroup(user);
        } catch (error) {
          if (!(error instanceof StatusError)) throw error;
          refusal ??= error;
        }
      }
      if (refusal !== undefined) throw refusal;
      return undefined;
    },
  };
}
