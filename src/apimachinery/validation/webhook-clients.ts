// Where a webhook is: an https URL without anything that a path does not need, or a port of a Service; and which reviews it reads.
import { invalid, required } from '../field-error.ts';
import { type Errors, each } from './checks.ts';
import { dns1035Label, dnsSubdomain, isPort, portRange } from './names.ts';

/** A ServiceReference as it may come: any part of it may be missing. */
interface SentService {
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly path?: string | undefined;
  readonly port?: number | bigint | undefined;
}

const form = '; desired format: https://host[/path]';
const parts =
  /^(?:(?<scheme>[a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/(?<authority>[^/?#]*))?[^?#]*(?:\?(?<query>[^#]*))?(?:#(?<fragment>.*))?$/s;

/** Why Go's url.Parse takes no such text. */
function unparsable(url: string, authority: string): string | undefined {
  for (const character of url)
    if (character < ' ' || character === '\u007f')
      return `parse ${JSON.stringify(url)}: net/url: invalid control character in URL`;
  const port = /:([^:\]]*)$/.exec(authority.slice(authority.lastIndexOf('@') + 1))?.[1] ?? '';
  if (!/^\d*$/.test(port))
    return `parse ${JSON.stringify(url)}: invalid port ${JSON.stringify(`:${port}`)} after host`;
  return undefined;
}

function urlErrors(field: string, url: string): Errors {
  const { scheme = '', authority = '', query = '', fragment = '' } = parts.exec(url)?.groups ?? {};
  const fault = unparsable(url, authority);
  if (fault !== undefined) return [required(field, `url must be a valid URL: ${fault}${form}`)];
  const at = authority.lastIndexOf('@');
  const host = authority.slice(at + 1);
  const errors: Errors = [];
  if (scheme.toLowerCase() !== 'https')
    errors.push(invalid(field, scheme.toLowerCase(), `'https' is the only allowed URL scheme${form}`));
  if (host === '') errors.push(invalid(field, host, `host must be specified${form}`));
  if (at >= 0)
    errors.push(invalid(field, authority.slice(0, at), 'user information is not permitted in the URL'));
  if (fragment !== '') errors.push(invalid(field, fragment, 'fragments are not permitted in the URL'));
  if (query !== '') errors.push(invalid(field, query, 'query parameters are not permitted in the URL'));
  return errors;
}

/** Nobody reads more of one path. */
const maxFaults = 50;

function pathErrors(field: string, path: string): Errors {
  if (path === '' || path === '/') return [];
  if (path === '//') return [invalid(field, path, 'segment[0] may not be empty')];
  const errors = path.startsWith('/') ? [] : [invalid(field, path, "must start with a '/'")];
  const segments = path.slice(1).replace(/\/$/, '').split('/');
  segments.forEach((segment, i) => {
    // Each fault shows the whole path.
    if (errors.length >= maxFaults) return;
    if (segment === '') errors.push(invalid(field, path, `segment[${i}] may not be empty`));
    else for (const why of dnsSubdomain(segment)) errors.push(invalid(field, path, `segment[${i}]: ${why}`));
  });
  return errors;
}

function serviceErrors(field: string, service: SentService): Errors {
  const { name = '', namespace = '', path = '', port = 443 } = service;
  return [
    ...(name === '' ? [required(`${field}.name`)] : []),
    ...(namespace === '' ? [required(`${field}.namespace`)] : []),
    ...(isPort(port) ? [] : [invalid(`${field}.port`, port, `port is not valid: ${portRange}`)]),
    ...pathErrors(`${field}.path`, path),
  ];
}

/** `clientConfig` of whatever names a webhook. */
export function clientConfigErrors(
  field: string,
  { url, service }: { readonly url?: string | undefined; readonly service?: SentService | undefined },
): Errors {
  if ((url === undefined) === (service === undefined))
    return [required(field, 'exactly one of url or service is required')];
  return url === undefined
    ? serviceErrors(`${field}.service`, service ?? {})
    : urlErrors(`${field}.url`, url);
}

const reviewVersions = ['v1', 'v1beta1'];

/** None of them at all, or one that this server writes. */
export const hasReviewVersion = (versions: readonly string[]): boolean =>
  versions.length === 0 || versions.some((version) => reviewVersions.includes(version));

/** `missing`: what is said when there are none. */
export function reviewVersionErrors(
  field: string,
  versions: readonly string[],
  mustBeKnown: boolean,
  missing = '',
): Errors {
  if (versions.length === 0) return [required(field, missing)];
  const seen = new Set<string>();
  const errors = versions.flatMap((version, i) => {
    const again = seen.has(version);
    seen.add(version);
    return again
      ? [invalid(`${field}[${i}]`, version, 'duplicate version')]
      : each(`${field}[${i}]`, version, dns1035Label);
  });
  if (mustBeKnown && !hasReviewVersion(versions))
    errors.push(invalid(field, versions, `must include at least one of ${reviewVersions.join(', ')}`));
  return errors;
}
