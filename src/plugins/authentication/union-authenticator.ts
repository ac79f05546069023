// Asks authenticators in order; whoever is known also belongs to system:authenticated.
import { StatusError } from '../../apimachinery/errors.ts';
import type {
  AskedAuthenticator,
  Authenticator,
  UserInfo,
} from '../../apiserver/authentication/authenticator.ts';

const authenticated = 'system:authenticated';
const unauthenticated = 'system:unauthenticated';

function withAuthenticatedGroup(user: UserInfo): UserInfo {
  return user.groups.includes(authenticated) || user.groups.includes(unauthenticated)
    ? user
    : { ...user, groups: [...user.groups, authenticated] };
}

/** A refusal, or a failure, of one is kept until all were asked, as upstream: another credential may still be good. */
export function unionAuthenticator(authenticators: readonly AskedAuthenticator[]): Authenticator {
  return {
    async authenticate(request, remarks) {
      const errors: unknown[] = [];
      for (const authenticator of authenticators) {
        try {
          const answer = authenticator.authenticate(request, remarks);
          const user = answer instanceof Promise ? await answer : answer;
          if (user instanceof StatusError) errors.push(user);
          else if (user !== undefined) return withAuthenticatedGroup(user);
        } catch (error) {
          errors.push(error);
        }
      }
      // What is no refusal is a fault of ours, and is told as one.
      if (errors.length > 0) throw errors.find((error) => !(error instanceof StatusError)) ?? errors[0];
      return undefined;
    },
  };
}

/** The anonymous one is asked when nobody refused: a credential that is wrong is not none. */
export function orAnonymous(known: Authenticator, anonymous: Authenticator): Authenticator {
  return {
    authenticate: async (request, remarks) =>
      (await known.authenticate(request, remarks)) ?? anonymous.authenticate(request),
  };
}
