// The front proxy's word: users in headers, believed only beside a certificate of the front proxy's own authority.
import { unauthorized } from '../../apimachinery/errors.ts';
import type { Authenticator } from '../../apiserver/authentication/authenticator.ts';
import type { ApiRequest } from '../../apiserver/http.ts';
import { bundleCheck } from '../../crypto/subject.ts';

export interface RequestHeaderOptions {
  /** PEM of the authorities of front proxies, as they are now. */
  readonly ca: () => string;
  /** Common names; empty: every certificate of the authority. */
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraHeadersPrefixes: readonly string[];
}

type Header = readonly [name: string, value: string];

/** Every header as it was sent: a comma in a group's name makes no second group. */
function headersOf({ rawHeaders, headers }: ApiRequest): Header[] {
  if (rawHeaders !== undefined)
    return rawHeaders.flatMap((name, i): Header[] =>
      i % 2 === 0 ? [[name.toLowerCase(), rawHeaders[i + 1] ?? '']] : [],
    );
  return Object.entries(headers).flatMap(([name, value]): Header[] =>
    value === undefined ? [] : (typeof value === 'string' ? [value] : value).map((one) => [name, one]),
  );
}

const lower = (names: readonly string[]): string[] => names.map((name) => name.toLowerCase());

function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

export function createRequestHeaderAuthenticator(options: RequestHeaderOptions): Authenticator {
  const isFrontProxy = bundleCheck(options.ca);
  const [names, uids, groups, prefixes] = [
    lower(options.usernameHeaders),
    lower(options.uidHeaders),
    lower(options.groupHeaders),
    lower(options.extraHeadersPrefixes),
  ];
  const valuesOf = (headers: readonly Header[], wanted: readonly string[]): string[] =>
    wanted.flatMap((name) => headers.filter(([sent]) => sent === name).map(([, value]) => value));
  const extraOf = (headers: readonly Header[]): Record<string, string[]> => {
    const extra: Record<string, string[]> = Object.create(null);
    for (const [name, value] of headers) {
      const prefix = prefixes.find((one) => name.startsWith(one));
      if (prefix === undefined) continue;
      const key = unescaped(name.slice(prefix.length));
      extra[key] = [...(extra[key] ?? []), value];
    }
    return extra;
  };
  return {
    authenticate(request) {
      const certificate = request.clientCertificate;
      if (certificate === undefined || !isFrontProxy(certificate)) return undefined;
      const { CN = '' } = certificate.subject;
      if (options.allowedNames.length > 0 && !options.allowedNames.includes(CN)) throw unauthorized();
      const headers = headersOf(request);
      const name = valuesOf(headers, names).find((value) => value !== '');
      if (name === undefined) return undefined;
      const uid = valuesOf(headers, uids).find((value) => value !== '');
      return {
        name,
        groups: valuesOf(headers, groups),
        ...(uid === undefined ? {} : { uid }),
        extra: { ...extraOf(headers) },
      };
    },
  };
}
