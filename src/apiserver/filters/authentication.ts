// Who is it? Credentials that are wrong are refused; none at all is the anonymous user, if that is allowed.
import { StatusError, unauthorized } from '../../apimachinery/errors.ts';
import { type Authenticator, anonymousUser, type UserInfo } from '../authentication/authenticator.ts';
import type { ApiResponse } from '../http.ts';
import { errorResponse } from '../response.ts';
import type { Filter } from './filter.ts';

const authenticated = 'system:authenticated';

/** Upstream adds the group to everybody whom an authenticator knows. */
function withAuthenticated(user: UserInfo): UserInfo {
  if (user.groups.includes(authenticated) || user.name === anonymousUser.name) return user;
  return { ...user, groups: [...user.groups, authenticated] };
}

const asItIs: Filter = (next) => next;

/** `refused`: what passes before somebody who is not believed is told so. */
export const authenticationFilter =
  (authenticator: Authenticator, allowAnonymous: boolean, refused: Filter = asItIs): Filter =>
  (next) =>
  async (context) => {
    const refuse = (error: StatusError = unauthorized()): Promise<ApiResponse> =>
      refused(async () => errorResponse(error))(context);
    const { request } = context;
    if (request.user !== undefined) {
      context.user = withAuthenticated(request.user);
      return next(context);
    }
    try {
      const answer = authenticator.authenticate(request, context);
      const user = answer instanceof Promise ? await answer : answer;
      const nobody = user === undefined || user.name === anonymousUser.name;
      // Upstream: a certificate that is not believed is a wrong credential, not a missing one.
      if (nobody && request.clientCertificateError !== undefined) return refuse();
      if (user === undefined && !allowAnonymous) return refuse();
      context.user = user === undefined ? anonymousUser : withAuthenticated(user);
    } catch (error) {
      if (error instanceof StatusError) return refuse(error.code === 401 ? unauthorized() : error);
      throw error;
    }
    return next(context);
  };
