// Acts as somebody else, when the caller may: Impersonate-User, -Group, -Uid and -Extra-*.
import { badRequest, internalError } from '../../apimachinery/errors.ts';
import type { UserInfo } from '../authentication/authenticator.ts';
import { forbiddenBy } from '../authorization/attributes.ts';
import type { AuthorizationAttributes, Authorizer } from '../authorization/authorizer.ts';
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

const listOf = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === 'string' ? value.split(/,\s*/) : value;

export function impersonationFilter(authorizer: Authorizer): Filter {
  return (next) => async (context) => {
    const { headers } = context.request;
    if (!namesSomebodyElse(headers)) return next(context);
    const name = context.header('impersonate-user');
    const groups = listOf(headers['impersonate-group']);
    const uid = context.header('impersonate-uid');
    const extra = extraOf(context);
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

function extraOf(context: RequestContext): Map<string, readonly string[]> {
  const extra = new Map<string, readonly string[]>();
  for (const [header, value] of Object.entries(context.request.headers)) {
    if (!header.startsWith(extraPrefix)) continue;
    try {
      extra.set(decodeURIComponent(header.slice(extraPrefix.length)), listOf(value));
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
