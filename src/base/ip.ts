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

/** `…:1.2.3.4` with its last two groups as IPv6 writes them. */
function withoutDots(text: string): string | undefined {
  if (!text.includes('.')) return text;
  const at = text.lastIndexOf(':') + 1;
  const value = ipv4Number(text.slice(at));
  if (value === undefined) return undefined;
  return `${text.slice(0, at)}${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`;
}

const [colon, lowerA, upperA] = [0x3a, 0x61, 0x41];

/** -1 for what is none. */
function hexDigit(code: number): number {
  if (code >= nought && code <= nine) return code - nought;
  if (code >= lowerA && code < lowerA + 6) return code - lowerA + 10;
  return code >= upperA && code < upperA + 6 ? code - upperA + 10 : -1;
}

/** The eight numbers, read as those of IPv4 are. */
function ipv6Groups(text: string): readonly number[] | undefined {
  const groups: number[] = [];
  let gap = text.startsWith('::') ? 0 : -1;
  let at = gap === 0 ? 2 : 0;
  while (at < text.length) {
    const from = at;
    let group = 0;
    for (; at - from < 4; at++) {
      const digit = at < text.length ? hexDigit(text.charCodeAt(at)) : -1;
      if (digit < 0) break;
      group = group * 16 + digit;
    }
    if (at === from || groups.push(group) > 8) return undefined;
    if (at === text.length) break;
    if (text.charCodeAt(at++) !== colon || at === text.length) return undefined;
    if (text.charCodeAt(at) !== colon) continue;
    if (gap >= 0) return undefined;
    gap = groups.length;
    at++;
  }
  const missing = 8 - groups.length;
  if (gap < 0 ? missing !== 0 : missing < 1) return undefined;
  if (gap >= 0) groups.splice(gap, 0, ...Array<number>(missing).fill(0));
  return groups;
}

function ipv6Value(text: string): bigint | undefined {
  const plain = withoutDots(text);
  const groups = plain === undefined ? undefined : ipv6Groups(plain);
  if (groups === undefined) return undefined;
  const half = (from: number): bigint => BigInt(groups[from]! * 0x10000 + groups[from + 1]!);
  return (half(0) << 96n) | (half(2) << 64n) | (half(4) << 32n) | half(6);
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
  const groups: number[] = [];
  for (const shift of [96n, 64n, 32n, 0n]) {
    const half = Number((value >> shift) & 0xffffffffn);
    groups.push(half >>> 16, half & 0xffff);
  }
  let [longest, start] = [1, -1];
  for (let at = 0, run = 0; at < 8; at++) {
    run = groups[at] === 0 ? run + 1 : 0;
    if (run > longest) [longest, start] = [run, at - run + 1];
  }
  let text = '';
  for (let at = 0; at < 8; at++) {
    if (at === start) {
      text += '::';
      at += longest - 1;
    } else
      text += text === '' || text.endsWith(':') ? groups[at]!.toString(16) : `:${groups[at]!.toString(16)}`;
  }
  return text;
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
