// The headers of HTTP/1 by name.
import type { HttpHeaders } from './http-message.ts';

/** What is said once: what is said again of them is not heard, as node:http has it. */
const single: ReadonlySet<string> = new Set([
  'age',
  'authorization',
  'content-length',
  'content-type',
  'etag',
  'expires',
  'from',
  'host',
  'if-modified-since',
  'if-unmodified-since',
  'last-modified',
  'location',
  'max-forwards',
  'proxy-authorization',
  'referer',
  'retry-after',
  'server',
  'user-agent',
]);

/** Lower-case names; what came several times is one list, as RFC 9110, 5.3, has it. */
export function headersByName(raw: readonly string[]): HttpHeaders {
  const headers: Record<string, string> = Object.create(null);
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase();
    const before = headers[name];
    if (before === undefined) headers[name] = raw[i + 1]!;
    else if (!single.has(name)) headers[name] = `${before}${name === 'cookie' ? '; ' : ', '}${raw[i + 1]!}`;
  }
  return headers;
}
