// Rules for names, keys and ports: each answers why a text is wrong, in upstream's words; empty when it is right.
import { dns1123SubdomainErrors } from '../labels.ts';

export type NameRule = (name: string) => string[];

const rule = (message: string, format: string, ...examples: string[]): string =>
  `${message} (e.g. ${examples.map((e) => `'${e}'`).join(',  or ')}, regex used for validation is '${format}')`;
const tooLong = (max: number): string => `must be no more than ${max} bytes`;

export const dnsSubdomain: NameRule = dns1123SubdomainErrors;

export const dnsLabel: NameRule = (name) => {
  const errors = name.length > 63 ? [tooLong(63)] : [];
  if (name.length > 4096 || !/^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/.test(name))
    errors.push(
      rule(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
        '[a-z0-9]([-a-z0-9]*[a-z0-9])?',
        'my-name',
        '123-abc',
      ),
    );
  return errors;
};

export const dns1035Label: NameRule = (name) => {
  const errors = name.length > 63 ? [tooLong(63)] : [];
  if (name.length > 4096 || !/^[a-z](?:[-a-z0-9]*[a-z0-9])?$/.test(name))
    errors.push(
      rule(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
        '[a-z]([-a-z0-9]*[a-z0-9])?',
        'my-name',
        'abc-123',
      ),
    );
  return errors;
};

/** Anything that can stand between two slashes of a path: names of roles and the like. */
export const pathSegment: NameRule = (name) => {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return ['/', '%'].filter((c) => name.includes(c)).map((c) => `may not contain '${c}'`);
};

export const configMapKey: NameRule = (key) => {
  const errors = key.length > 253 ? [tooLong(253)] : [];
  if (!/^[-._a-zA-Z0-9]+$/.test(key))
    errors.push(
      rule(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        '[-._a-zA-Z0-9]+',
        'key.name',
        'KEY_NAME',
        'key-name',
      ),
    );
  if (key === '.') errors.push("must not be '.'");
  if (key === '..') errors.push("must not be '..'");
  else if (key.startsWith('..')) errors.push("must not start with '..'");
  return errors;
};

export const envVarName: NameRule = (name) =>
  /^[ -<>-~]+$/.test(name)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];

export const portName: NameRule = (name) => {
  const errors: string[] = [];
  if (name.length > 15) errors.push('must be no more than 15 bytes');
  if (!/^[-a-z0-9]+$/.test(name))
    errors.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(name)) errors.push('must contain at least one letter (a-z)');
  if (name.includes('--')) errors.push('must not contain consecutive hyphens');
  if (name.startsWith('-') || name.endsWith('-')) errors.push('must not begin or end with a hyphen');
  return errors;
};

export const portRange = 'must be between 1 and 65535, inclusive';
export const isPort = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65535;

const v4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
export const isIPv4 = (text: string): boolean => v4.test(text);
export function isIPv6(text: string): boolean {
  if (text.length > 45 || !/^[0-9a-fA-F:.]+$/.test(text) || !text.includes(':')) return false;
  const lastColon = text.lastIndexOf(':');
  let head = text;
  let width = 8;
  if (text.includes('.')) {
    if (!isIPv4(text.slice(lastColon + 1))) return false;
    head = `${text.slice(0, lastColon)}:0:0`;
    width = 8;
  }
  const halves = head.split('::');
  if (halves.length > 2) return false;
  const groups = halves.flatMap((h) => (h === '' ? [] : h.split(':')));
  if (!groups.every((g) => /^[0-9a-fA-F]{1,4}$/.test(g))) return false;
  return halves.length === 2 ? groups.length < width : groups.length === width;
}
export const ipErrors: NameRule = (text) =>
  isIPv4(text) || isIPv6(text) ? [] : ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'];
/** Without leading zeros and `::`, so that one address has one form; of an IPv4 address in IPv6's clothes the former. */
function groupsOf(ip: string): number[] {
  const v4Tail = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(ip);
  const pair = (high: string, low: string): string => (Number(high) * 256 + Number(low)).toString(16);
  const plain =
    v4Tail === null ? ip : `${v4Tail[1]}${pair(v4Tail[2]!, v4Tail[3]!)}:${pair(v4Tail[4]!, v4Tail[5]!)}`;
  const [head = '', tail] = plain.split('::');
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  if (tail === undefined) return groups(head);
  const before = groups(head);
  const after = groups(tail);
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function ipv4BytesOf(ip: string): number[] | undefined {
  if (isIPv4(ip)) return ip.split('.').map(Number);
  const groups = groupsOf(ip);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return isMapped ? groups.slice(6).flatMap((group) => [group >> 8, group & 255]) : undefined;
}

/** One spelling of an address; what is none is its own. */
export function canonicalIp(ip: string): string {
  const v4 = isIPv4(ip) || isIPv6(ip) ? ipv4BytesOf(ip) : undefined;
  if (v4 !== undefined) return v4.join('.');
  return isIPv6(ip)
    ? groupsOf(ip)
        .map((group) => group.toString(16))
        .join(':')
    : ip;
}

/** Of a valid address, as upstream's ValidateNonSpecialIP: what every node has for itself is nobody's to give. */
const specialIpErrors: NameRule = (ip) => {
  const v4 = ipv4BytesOf(ip);
  const groups = v4 === undefined ? groupsOf(ip) : [];
  const head = groups[0] ?? 0;
  const isAll = (parts: readonly number[], last: number): boolean =>
    parts.every((part, at) => part === (at === parts.length - 1 ? last : 0));
  if (isAll(v4 ?? groups, 0)) return [`may not be unspecified (${ip})`];
  if (v4 ? v4[0] === 127 : isAll(groups, 1))
    return ['may not be in the loopback range (127.0.0.0/8, ::1/128)'];
  if (v4 ? v4[0] === 169 && v4[1] === 254 : (head & 0xffc0) === 0xfe80)
    return ['may not be in the link-local range (169.254.0.0/16, fe80::/10)'];
  if (v4 ? v4[0] === 224 && v4[1] === 0 && v4[2] === 0 : (head & 0xff0f) === 0xff02)
    return ['may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'];
  return [];
};
/** An address that a Service or an endpoint may have. */
export const usableIpErrors: NameRule = (ip) => {
  const wrong = ipErrors(ip);
  return wrong.length > 0 ? wrong : specialIpErrors(ip);
};
export const cidrErrors: NameRule = (text) => {
  const [address = '', bits = '', more] = text.split('/');
  const max = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1;
  return more === undefined && /^\d{1,3}$/.test(bits) && Number(bits) <= max
    ? []
    : ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'];
};
