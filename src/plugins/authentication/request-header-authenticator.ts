// The front proxy's word: users in headers, believed only beside a certificate of the front proxy's own authority.
import { unauthorized } from '../../apimachinery/errors.ts';
import type { AskedAuthenticator } from '../../apiserver/authentication/authenticator.ts';
import { type SentHeader, sentHeaders } from '../../apiserver/http.ts';
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

const lower = (names: readonly string[]): string[] => names.map((name) => name.toLowerCase());

function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** Every client that has a certificate and is no front proxy gets it: made once, and not thrown, which costs more than all that is looked up here. */
const noFrontProxy = unauthorized();

export function createRequestHeaderAuthenticator(options: RequestHeaderOptions): AskedAuthenticator {
  const isFrontProxy = bundleCheck(options.ca);
  const [names, uids, groups, prefixes] = [
    lower(options.usernameHeaders),
    lower(options.uidHeaders),
    lower(options.groupHeaders),
    lower(options.extraHeadersPrefixes),
  ];
  const valuesOf = (headers: readonly SentHeader[], wanted: readonly string[]): string[] =>
    wanted.flatMap((name) => headers.filter(([sent]) => sent === name).map(([, value]) => value));
  /** Of the first header that says something; of each its first value counts. */
  const firstOf = (headers: readonly SentHeader[], wanted: readonly string[]): string | undefined =>
    wanted
      .map((name) => headers.find(([sent]) => sent === name)?.[1])
      .find((value) => value !== undefined && value !== '');
  const extraOf = (headers: readonly SentHeader[]): Record<string, string[]> => {
    const extra: Record<string, string[]> = Object.create(null);
    // As upstream: what begins with two of them is told under both.
    for (const prefix of prefixes)
      for (const [name, value] of headers) {
        if (!name.startsWith(prefix)) continue;
        const key = unescaped(name.slice(prefix.length));
        extra[key] = [...(extra[key] ?? []), value];
      }
    return extra;
  };
  return {
    authenticate(request) {
      const certificate = request.clientCertificate;
      if (certificate === undefined) return undefined;
      if (!isFrontProxy(certificate)) return noFrontProxy;
      const { CN = '' } = certificate.subject;
      if (options.allowedNames.length > 0 && !options.allowedNames.includes(CN)) return noFrontProxy;
      const headers = sentHeaders(request);
      const name = firstOf(headers, names);
      if (name === undefined) return undefined;
      const uid = firstOf(headers, uids);
      return {
        name,
        groups: valuesOf(headers, groups).filter((group) => group !== ''),
        ...(uid === undefined ? {} : { uid }),
        extra: { ...extraOf(headers) },
      };
    },
  };
}
