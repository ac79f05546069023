// From a request to the question that an authorizer is asked, and to the words of a refusal.
import { forbidden, type StatusError } from '../../apimachinery/errors.ts';
import { parseFieldSelector } from '../../apimachinery/field-selector.ts';
import type { UserInfo } from '../authentication/authenticator.ts';
import type { RequestInfo } from '../request-info.ts';
import type { AuthorizationAttributes } from './authorizer.ts';

/** Exact requirements of a field selector; one that can't be read asks for nothing here and is refused later. */
export function exactFields(text: string): Record<string, string> {
  try {
    return Object.fromEntries(
      parseFieldSelector(text)
        .requirements.filter((r) => r.operator === '=')
        .map((r) => [r.field, r.value]),
    );
  } catch {
    return {};
  }
}

/** What a request's query asks for; empty where it says nothing. */
interface QuerySelectors {
  readonly fields: string;
  readonly labels: string;
}
export const noSelectors: QuerySelectors = { fields: '', labels: '' };

interface Asked {
  readonly request: { readonly url: string };
  readonly query: URLSearchParams;
  readonly info: RequestInfo;
}

/** The verbs whose selectors upstream's authorizers are told: others do not keep to what their query says. */
const many: readonly string[] = ['list', 'watch', 'deletecollection'];
/** As a path is read: slashes before it count as one. */
const oldWatchPath = /^\/+api(?:s\/[^/]+)?\/[^/]+\/watch\//;

/** Of requests for many, unless they are so by an old path; the query is read when it says something. */
export function selectorsOf({ request, info, query }: Asked): QuerySelectors {
  if (!request.url.includes('Selector=') || !many.includes(info.verb)) return noSelectors;
  if (oldWatchPath.test(info.path)) return noSelectors;
  return { fields: query.get('fieldSelector') ?? '', labels: query.get('labelSelector') ?? '' };
}

export const attributesOf = (
  info: RequestInfo,
  user: UserInfo,
  { fields, labels }: QuerySelectors,
): AuthorizationAttributes => ({
  user,
  ...(fields === '' ? {} : { fields: exactFields(fields), fieldSelector: fields }),
  ...(labels === '' ? {} : { labelSelector: labels }),
  verb: info.verb,
  isResource: info.isResource,
  group: info.group,
  version: info.version,
  resource: info.resource,
  subresource: info.subresource,
  namespace: info.namespace,
  name: info.name,
  path: info.path,
});

/** As Go's %q. */
const quote = (text: string): string => JSON.stringify(text);

function sentence(a: AuthorizationAttributes): string {
  if (!a.isResource) return `User ${quote(a.user.name)} cannot ${a.verb} path ${quote(a.path)}`;
  const resource = a.subresource === '' ? a.resource : `${a.resource}/${a.subresource}`;
  const what = `User ${quote(a.user.name)} cannot ${a.verb} resource ${quote(resource)} in API group ${quote(a.group)}`;
  return a.namespace === ''
    ? `${what} at the cluster scope`
    : `${what} in the namespace ${quote(a.namespace)}`;
}

/** Upstream's responsewriters.Forbidden. */
export function forbiddenBy(attributes: AuthorizationAttributes, reason: string): StatusError {
  const why = reason === '' ? sentence(attributes) : `${sentence(attributes)}: ${reason}`;
  return forbidden({ group: attributes.group, resource: attributes.resource }, attributes.name, why);
}
