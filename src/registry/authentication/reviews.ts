// TokenReview and SelfSubjectReview: who is this token, and who am I.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { badRequest } from '../../apimachinery/errors.ts';
import { obj, spec, str, strs } from '../../apimachinery/json-access.ts';
import type { TokenAuthenticator } from '../../apiserver/authentication/token-authenticator.ts';
import type { UserInfo } from '../../apiserver/authentication/user-info.ts';
import type { RestHandler } from '../../apiserver/registry/rest-storage.ts';
import { rfc3339 } from '../../base/clock.ts';

const userInfo = (user: UserInfo): JsonObject => ({
  ...(user.name === '' ? {} : { username: user.name }),
  ...(user.uid === undefined ? {} : { uid: user.uid }),
  ...(user.groups.length === 0 ? {} : { groups: [...user.groups] }),
  ...(user.extra === undefined || Object.keys(user.extra).length === 0
    ? {}
    : { extra: Object.fromEntries(Object.entries(user.extra).map(([key, list]) => [key, [...list]])) }),
});

const authenticated = (user: UserInfo): UserInfo =>
  user.groups.includes('system:authenticated')
    ? user
    : { ...user, groups: [...user.groups, 'system:authenticated'] };

export function createTokenReview(deps: {
  readonly tokens: readonly TokenAuthenticator[];
  readonly audiences: readonly string[];
}): RestHandler {
  const review = async (
    token: string,
    audiences: readonly string[],
    explicit: boolean,
  ): Promise<JsonObject> => {
    const refusals: string[] = [];
    for (const authenticator of deps.tokens) {
      const verdict = await authenticator.authenticateToken(token, audiences);
      if (verdict === undefined) continue;
      if ('refused' in verdict) {
        refusals.push(verdict.refused);
        continue;
      }
      return {
        authenticated: true,
        user: userInfo(authenticated(verdict.user)),
        ...(explicit || verdict.audiences.length > 0 ? { audiences: [...verdict.audiences] } : {}),
      };
    }
    const error = 'invalid bearer token';
    return { user: {}, error: refusals.length === 0 ? error : `[${[error, ...refusals].join(', ')}]` };
  };
  return {
    async create(request) {
      const object = request.object ?? {};
      const token = str(spec(object).token);
      if (token === '') throw badRequest('token is required for TokenReview in authentication');
      const asked = strs(spec(object).audiences);
      const audiences = asked.length > 0 ? asked : deps.audiences;
      return { status: 201, object: { ...object, status: await review(token, audiences, asked.length > 0) } };
    },
  };
}

export const selfSubjectReview: RestHandler = {
  create: (request) => ({
    status: 201,
    object: {
      ...request.object,
      metadata: { ...obj(request.object?.metadata), creationTimestamp: rfc3339(request.clock.now()) },
      status: { userInfo: userInfo(request.context.user) },
    },
  }),
};
