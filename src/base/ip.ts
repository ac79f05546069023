// IP addresses and prefixes of both families as values: parsed as strictly as Go's net/netip, written as RFC 5952 says.

export type IpFamily = 4 | 6;

export interface Ip {
  readonly family: IpFamily;
  readonly value: bigint;
  /** `eth0` of `fe80::1%eth0`. */
  readonly zone?: string;
}

/** A prefix, from its first address to its last. */
export interface Cidr {
  readonly family: IpFamily;
  readonly first: bigint;
  readonly last: bigint;
  readonly bits: number;
}

const widths: Readonly<Record<IpFamily, number>> = { 4: 32, 6: 128 };
const mappedPrefix = 0xffffn << 32n;

const [dot, nought, nine] = [0x2e, 0x30, 0x39];

/**
 * Four decimal numbers without leading zeros, which some would read as octal. One character after the other: an object may hold
 * tens of thousands of addresses, and each is read several times.
 */
function ipv4Number(text: string): number | undefined {
  let value = 0;
  let at = 0;
  for (let part = 0; part < 4; part++) {
    if (part > 0 && text.charCodeAt(at++) !== dot) return undefined;
    const from = at;
    let byte = 0;
    for (; at < text.length && at - from < 3; at++) {
      const code = text.charCodeAt(at);
      if (code < nought || code > nine) break;
      byte = byte * 10 + code - nought;
    }
    if (at === from || byte > 255 || (at - from > 1 && text.charCodeAt(from) === nought)) return undefined;
    value = value * 256 + byte;
  }
  return at === text.length ? value : undefined;
}

const groupsOf = (text: string): string[] => (text === '' ? [] : text.split(':'));

/** `…:1.2.3.4` with its last two groups as IPv6 writes them. */
function withoutDots(text: string): string | undefined {
  if (!text.includes('.')) return text;
  const at = text.lastIndexOf(':') + 1;
  const value = ipv4Number(text.slice(at));
  if (value === undefined) return undefined;
  return `${text.slice(0, at)}${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`;
}

function ipv6Value(text: string): bigint | undefined {
  const [head = '', tail, ...more] = withoutDots(text)?.split('::') ?? [];
  if (more.length > 0) return undefined;
  const before = groupsOf(head);
  const after = groupsOf(tail ?? '');
  const missing = 8 - before.length - after.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  const groups = [...before, ...Array<string>(missing).fill('0'), ...after];
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  return BigInt(`0x${groups.map((group) => group.padStart(4, '0')).join('')}`);
}

/** As netip.ParseAddr: undefined for what Go refuses. */
export function parseIp(text: string): Ip | undefined {
  if (!text.includes(':')) {
    const number = ipv4Number(text);
    return number === undefined ? undefined : { family: 4, value: BigInt(number) };
  }
  const at = text.indexOf('%');
  const value = ipv6Value(at < 0 ? text : text.slice(0, at));
  if (value === undefined || at === text.length - 1) return undefined;
  return at < 0 ? { family: 6, value } : { family: 6, value, zone: text.slice(at + 1) };
}

function formatIpv4(value: bigint): string {
  const number = Number(value);
  return `${number >>> 24}.${(number >>> 16) & 255}.${(number >>> 8) & 255}.${number & 255}`;
}

const isMapped = ({ family, value }: Ip): boolean => family === 6 && value >> 32n === 0xffffn;

/** The longest run of zeros, of equally long ones the first, is `::`; one group alone is not shortened. */
function formatIpv6(value: bigint): string {
  const groups = value.toString(16).padStart(32, '0').match(/.{4}/g)!;
  const text = groups.map((group) => group.replace(/^0{1,3}/, '')).join(':');
  let longest = '';
  for (const [run] of text.matchAll(/\b0(:0)+\b/g)) if (run.length > longest.length) longest = run;
  if (longest === '') return text;
  const at = text.search(new RegExp(`\\b${longest}\\b`));
  return `${text.slice(0, at).replace(/:$/, '')}::${text.slice(at + longest.length).replace(/^:/, '')}`;
}

/** The one text of an address. */
export function formatIp(ip: Ip): string {
  if (ip.family === 4) return formatIpv4(ip.value);
  const text = isMapped(ip) ? `::ffff:${formatIpv4(ip.value - mappedPrefix)}` : formatIpv6(ip.value);
  return ip.zone === undefined ? text : `${text}%${ip.zone}`;
}

/** An IPv4 address in IPv6's clothes as itself: the same machine is reached by both. */
export const unmapped = (ip: Ip): Ip => (isMapped(ip) ? { family: 4, value: ip.value - mappedPrefix } : ip);

/** For comparing what people wrote: one text for one machine; what is no address is as it is. */
export function comparableIp(text: string): string {
  const ip = parseIp(text);
  return ip === undefined ? text : formatIp(unmapped(ip));
}

/** The address and its prefix, as an interface has both: 10.1.2.3/24. As netip.ParsePrefix, so without a zone. */
export function parseIpWithBits(text: string): { readonly ip: Ip; readonly cidr: Cidr } | undefined {
  const at = text.lastIndexOf('/');
  const length = text.slice(at + 1);
  if (at < 0 || !/^(0|[1-9][0-9]{0,2})$/.test(length)) return undefined;
  const ip = parseIp(text.slice(0, at));
  if (ip === undefined || ip.zone !== undefined || Number(length) > widths[ip.family]) return undefined;
  return { ip, cidr: cidrOf(ip, Number(length)) };
}

/** Host bits are cleared: 10.1.2.3/24 is 10.1.2.0/24. */
export const parseCidr = (text: string): Cidr | undefined => parseIpWithBits(text)?.cidr;

/** The prefix of so many bits that an address is in; without a number the address alone. */
export function cidrOf({ family, value }: Ip, bits: number = widths[family]): Cidr {
  const host = BigInt(widths[family] - bits);
  const first = (value >> host) << host;
  return { family, first, last: first + (1n << host) - 1n, bits };
}

export const formatCidr = (cidr: Cidr): string => `${formatIp(firstOf(cidr))}/${cidr.bits}`;

export const firstOf = ({ family, first }: Cidr): Ip => ({ family, value: first });

export const sizeOfCidr = ({ first, last }: Cidr): bigint => last - first + 1n;

/** Undefined outside of the prefix. */
export function ipAt({ family, first, last }: Cidr, offset: number | bigint): Ip | undefined {
  const value = first + BigInt(offset);
  return value < first || value > last ? undefined : { family, value };
}

/** An address with a zone is in no prefix, as in Go. */
export const cidrContains = (cidr: Cidr, ip: Ip): boolean =>
  cidr.family === ip.family && ip.value >= cidr.first && ip.value <= cidr.last && ip.zone === undefined;

export const cidrsOverlap = (a: Cidr, b: Cidr): boolean =>
  a.family === b.family && a.first <= b.last && b.first <= a.last;

export const isWithin = (inner: Cidr, outer: Cidr): boolean =>
  inner.family === outer.family && inner.first >= outer.first && inner.last <= outer.last;

/** As Go's net.JoinHostPort: the colons of IPv6 are not those before a port. */
export const hostPort = (host: string, port: number | string): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
