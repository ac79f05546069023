// Acts as somebody else, when the caller may: Impersonate-User, -Group, -Uid and -Extra-*.
import { badRequest, internalError } from '../../apimachinery/errors.ts';
import type { UserInfo } from '../authentication/authenticator.ts';
import { forbiddenBy } from '../authorization/attributes.ts';
import type { AuthorizationAttributes, Authorizer } from '../authorization/authorizer.ts';
import { type SentHeader, sentHeaders } from '../http.ts';
import type { RequestContext } from '../request-context.ts';
import { errorResponse } from '../response.ts';
import type { Filter } from './filter.ts';

interface Question {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

const prefix = 'impersonate-';
const extraPrefix = 'impersonate-extra-';

/** Hardly any request does, so that this is all it costs. */
function namesSomebodyElse(headers: RequestContext['request']['headers']): boolean {
  for (const header in headers) if (header.startsWith(prefix)) return true;
  return false;
}

export function impersonationFilter(authorizer: Authorizer): Filter {
  return (next) => async (context) => {
    if (!namesSomebodyElse(context.request.headers)) return next(context);
    const headers = sentHeaders(context.request);
    const valuesOf = (wanted: string): string[] =>
      headers.filter(([sent]) => sent === wanted).map(([, value]) => value);
    const name = valuesOf('impersonate-user')[0] ?? '';
    const groups = valuesOf('impersonate-group');
    const uid = valuesOf('impersonate-uid')[0] ?? '';
    const extra = extraOf(headers);
    const asked = groups.length > 0 || uid !== '' || extra.size > 0;
    if (name === '') {
      if (!asked) return next(context);
      const error = new Error(
        `requested [${[...groups.map((g) => `{Group  ${g}}`)].join(' ')}] without impersonating a user`,
      );
      return errorResponse(internalError(error));
    }
    const questions: Question[] = [
      ...userQuestion(name),
      ...groups.map((g) => question('groups', g)),
      ...(uid === '' ? [] : [question('uids', uid, 'authentication.k8s.io')]),
      ...[...extra].flatMap(([key, values]) =>
        values.map((v) => question('userextras', v, 'authentication.k8s.io', key)),
      ),
    ];
    for (const q of questions) {
      const attributes: AuthorizationAttributes = {
        ...q,
        user: context.user,
        verb: 'impersonate',
        isResource: true,
        path: '',
      };
      const { decision, reason } = await authorizer.authorize(attributes);
      if (decision !== 'allow') return errorResponse(forbiddenBy(attributes, reason));
    }
    context.user = impersonated(name, groups, uid, extra);
    return next(context);
  };
}

const question = (resource: string, name: string, group = '', subresource = ''): Question => ({
  group,
  version: 'v1',
  resource,
  subresource,
  namespace: '',
  name,
});

const serviceAccount = /^system:serviceaccount:([^:]+):([^:]+)$/;

function userQuestion(name: string): Question[] {
  const account = serviceAccount.exec(name);
  if (!account) return [question('users', name)];
  return [{ ...question('serviceaccounts', account[2]!), namespace: account[1]! }];
}

function extraOf(headers: readonly SentHeader[]): Map<string, readonly string[]> {
  const extra = new Map<string, readonly string[]>();
  for (const [header, value] of headers) {
    if (!header.startsWith(extraPrefix)) continue;
    try {
      const key = decodeURIComponent(header.slice(extraPrefix.length));
      extra.set(key, [...(extra.get(key) ?? []), value]);
    } catch {
      throw badRequest(`invalid header ${header}`);
    }
  }
  return extra;
}

function impersonated(
  name: string,
  asked: readonly string[],
  uid: string,
  extra: ReadonlyMap<string, readonly string[]>,
): UserInfo {
  const groups = [...asked];
  const account = serviceAccount.exec(name);
  if (account && groups.length === 0)
    groups.push('system:serviceaccounts', `system:serviceaccounts:${account[1]}`);
  const anonymous = name === 'system:anonymous';
  const mark = anonymous ? 'system:unauthenticated' : 'system:authenticated';
  if (!groups.includes(mark)) groups.push(mark);
  return {
    name,
    groups,
    ...(uid === '' ? {} : { uid }),
    ...(extra.size > 0 ? { extra: Object.fromEntries(extra) } : {}),
  };
}
