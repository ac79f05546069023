// IPv4 addresses and prefixes as numbers: parse strictly, compare, count.

export interface Ipv4Cidr {
  /** First address of the prefix. */
  readonly base: number;
  readonly bits: number;
}

/** Undefined unless it is four decimal numbers without leading zeros. */
export function parseIpv4(text: string): number | undefined {
  const parts = text.split('.');
  if (parts.length !== 4) return undefined;
  let value = 0;
  for (const part of parts) {
    if (!/^(0|[1-9][0-9]{0,2})$/.test(part)) return undefined;
    const byte = Number(part);
    if (byte > 255) return undefined;
    value = value * 256 + byte;
  }
  return value;
}

export const formatIpv4 = (value: number): string =>
  `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`;

export const sizeOfIpv4Cidr = (cidr: Ipv4Cidr): number => 2 ** (32 - cidr.bits);

/** Host bits are cleared: 10.1.2.3/24 is 10.1.2.0/24. */
export function parseIpv4Cidr(text: string): Ipv4Cidr | undefined {
  const [address, length, ...rest] = text.split('/');
  if (rest.length > 0 || length === undefined || !/^(0|[1-9][0-9]?)$/.test(length)) return undefined;
  const bits = Number(length);
  const value = parseIpv4(address!);
  if (value === undefined || bits > 32) return undefined;
  const size = 2 ** (32 - bits);
  return { base: Math.floor(value / size) * size, bits };
}

export const formatIpv4Cidr = (cidr: Ipv4Cidr): string => `${formatIpv4(cidr.base)}/${cidr.bits}`;

export const ipv4CidrContains = (cidr: Ipv4Cidr, address: number): boolean =>
  address >= cidr.base && address < cidr.base + sizeOfIpv4Cidr(cidr);

export const ipv4CidrsOverlap = (a: Ipv4Cidr, b: Ipv4Cidr): boolean =>
  a.base < b.base + sizeOfIpv4Cidr(b) && b.base < a.base + sizeOfIpv4Cidr(a);
