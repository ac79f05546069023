// What another API server gets of a request: its path as it was judged here, and who asks in headers of a front proxy.
import { badRequest } from '../../apimachinery/errors.ts';
import { endToEnd } from '../../wire/backend.ts';
import type { UserInfo } from '../authentication/user-info.ts';
import type { RequestContext } from '../request-context.ts';

export type ProxiedHeaders = Record<string, string | readonly string[]>;

/** Credentials of the client, whom it impersonates, and what only a front proxy may say. */
const withheld =
  /^(?:authorization|proxy-.*|impersonate-.*|x-remote-.*|x-forwarded-.*|forwarded|host|content-length|expect|audit-id)$/;

/** Bytes that a header's value loses on its way, so that its reader sees somebody else. */
const unsendable = /[\u0000-\u001f\u007f]|^ | $/;

/** As Node writes them: the bytes of UTF-8, each as a character. */
function inHeader(text: string): string {
  if (unsendable.test(text)) throw badRequest('the identity of the user cannot be told in a header');
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** Bytes of a header's name by RFC 9110, without the one that escapes. */
const plainInName = /[A-Za-z0-9!#$&'*+.^_`|~-]/;

const escapedName = (key: string): string =>
  [...Buffer.from(key, 'utf8')]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      return plainInName.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');

/** In upstream's headers; whatever this server's own front proxies are told to write. */
export function identityHeaders({ name, uid = '', groups, extra = {} }: UserInfo): ProxiedHeaders {
  const headers: ProxiedHeaders = { 'x-remote-user': inHeader(name) };
  if (uid !== '') headers['x-remote-uid'] = inHeader(uid);
  if (groups.length > 0) headers['x-remote-group'] = groups.map(inHeader);
  for (const [key, values] of Object.entries(extra)) {
    if (values.length === 0) continue;
    const header = `x-remote-extra-${escapedName(key).toLowerCase()}`;
    // Keys that differ in case only are one header: nothing of either is lost.
    headers[header] = [...(headers[header] ?? []), ...values.map(inHeader)];
  }
  return headers;
}

export interface FrontProxyHeaders {
  /** Names, in lower case, in which this server itself is told of users. */
  readonly names: readonly string[];
  readonly prefixes: readonly string[];
}

/** A server that reads `_` as `-` must not be told of users by clients either. */
function isWithheld(name: string, { names, prefixes }: FrontProxyHeaders): boolean {
  const read = name.replaceAll('_', '-');
  return withheld.test(read) || names.includes(read) || prefixes.some((prefix) => read.startsWith(prefix));
}

/** Without those of upgrades. Throws StatusError. */
export function proxiedHeaders(context: RequestContext, own: FrontProxyHeaders): ProxiedHeaders {
  const { request, user, auditId } = context;
  const headers: ProxiedHeaders = {};
  for (const [name, value] of Object.entries(endToEnd(request.headers as Record<string, string | string[]>)))
    if (!isWithheld(name, own)) headers[name] = value;
  return {
    ...headers,
    ...identityHeaders(user),
    'audit-id': auditId,
    'x-forwarded-for': request.remoteAddress,
  };
}

/** What Go's URL leaves as it is in a segment of a path. */
const escapedSegment = (segment: string): string =>
  encodeURIComponent(segment).replace(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent);

/**
 * The path by whose parts was decided whether it is allowed, written anew, so that nobody behind reads another one in it.
 * The query in the order of its names, as Go writes it.
 */
export function proxiedPath({ info, query, request }: RequestContext): string {
  const path = info.path.replace(/^\/+/, '').split('/').map(escapedSegment).join('/');
  if (!request.url.includes('?')) return `/${path}`;
  const sorted = new URLSearchParams(query);
  sorted.sort();
  return `/${path}?${sorted}`;
}
