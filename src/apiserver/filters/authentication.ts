// Who is it? Credentials that are wrong are refused; none at all is the anonymous user, if that is allowed.
import { StatusError, unauthorized } from '../../apimachinery/errors.ts';
import type { Clock } from '../../base/clock.ts';
import type { AuthenticationMetrics } from '../authentication/authentication-metrics.ts';
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

interface Options {
  readonly authenticator: Authenticator;
  readonly allowAnonymous: boolean;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly metrics: AuthenticationMetrics;
  /** What passes before somebody who is not believed is told so. */
  readonly refused?: Filter | undefined;
}

export function authenticationFilter(options: Options): Filter {
  const { authenticator, allowAnonymous, clock, metrics, refused = asItIs } = options;
  return (next) => async (context) => {
    const { request } = context;
    if (request.user !== undefined) {
      context.user = withAuthenticated(request.user);
      return next(context);
    }
    const began = clock.monotonic();
    const refuse = (
      result: 'failure' | 'error',
      error: StatusError = unauthorized(),
    ): Promise<ApiResponse> => {
      metrics.failed(result, (clock.monotonic() - began) / 1000);
      return refused(async () => errorResponse(context, error))(context);
    };
    try {
      const answer = authenticator.authenticate(request, context);
      const user = answer instanceof Promise ? await answer : answer;
      const nobody = user === undefined || user.name === anonymousUser.name;
      // Upstream: a certificate that is not believed is a wrong credential, not a missing one.
      if (nobody && request.clientCertificateError !== undefined) return refuse('error');
      if (user === undefined && !allowAnonymous) return refuse('failure');
      context.user = user === undefined ? anonymousUser : withAuthenticated(user);
      context.authenticatedInMs = clock.monotonic() - began;
      metrics.succeeded(context.user.name, context.authenticatedInMs / 1000);
    } catch (error) {
      if (error instanceof StatusError) return refuse('error', error.code === 401 ? unauthorized() : error);
      throw error;
    }
    return next(context);
  };
}
