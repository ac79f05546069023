// Rules for addresses and prefixes, as strict as upstream's StrictIPCIDRValidation; and what is said of those that are right but odd.
import {
  type Cidr,
  cidrContains,
  cidrOf,
  formatCidr,
  formatIp,
  type Ip,
  parseCidr,
  parseIp,
  parseIpWithBits,
  unmapped,
} from '../../base/ip.ts';
import type { NameRule } from './names.ts';

/** Without a zone, as Go's net.ParseIP. */
function addressOf(text: string): Ip | undefined {
  const ip = parseIp(text);
  return ip?.zone === undefined ? ip : undefined;
}

/** Zeros before a number, which older parsers passed over. */
const withoutZeros = (text: string): string =>
  text.replaceAll(/[0-9a-fA-F]+/g, (group) => group.replace(/^0+(?=.)/, ''));

/** As upstream's ParseIPSloppy: leading zeros are allowed. No address is longer, however it is written. */
const sloppyIp = (text: string): Ip | undefined =>
  text.length > 256 ? undefined : (addressOf(text) ?? addressOf(withoutZeros(text)));

export const isIp = (text: string): boolean => sloppyIp(text) !== undefined;
const isMapped = (ip: Ip): boolean => unmapped(ip) !== ip;

export const isIPv4 = (text: string): boolean => addressOf(text)?.family === 4;
export const isIPv6 = (text: string): boolean => addressOf(text)?.family === 6;

export const ipErrors: NameRule = (text) => {
  const ip = sloppyIp(text);
  if (ip === undefined) return ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'];
  if (addressOf(text) === undefined) return ['must not have leading 0s'];
  return isMapped(ip) ? ['must not be an IPv4-mapped IPv6 address'] : [];
};

/** For fields that never took anything else: the one text of an address. */
export const canonicalIpErrors: NameRule = (text) => {
  const wrong = ipErrors(text);
  if (wrong.length > 0) return wrong;
  const canonical = formatIp(parseIp(text)!);
  return canonical === text ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`];
};

export function ipWarnings(field: string, text: string): string[] {
  const ip = sloppyIp(text);
  if (ip === undefined || isIPv4(text)) return [];
  const shown = JSON.stringify(text);
  const canonical = formatIp(unmapped(ip));
  if (addressOf(text) === undefined || isMapped(ip))
    return [`${field}: non-standard IP address ${shown} is invalid: use ${JSON.stringify(canonical)}`];
  return ip.family === 4 || canonical === text
    ? []
    : [
        `${field}: IPv6 address ${shown} should be in RFC 5952 canonical format (${JSON.stringify(canonical)})`,
      ];
}

interface Prefix {
  readonly ip: Ip;
  readonly cidr: Cidr;
  /** It has zeros before a number. */
  readonly hasZeros: boolean;
}

function sloppyPrefix(text: string): Prefix | undefined {
  if (text.length > 256) return undefined;
  const strict = parseIpWithBits(text);
  const prefix = strict ?? parseIpWithBits(withoutZeros(text));
  return prefix && { ...prefix, hasZeros: strict === undefined };
}

/** Whether there is nothing to say of it: there may be tens of thousands. */
const isCanonical = ({ ip, cidr, hasZeros }: Prefix, text: string): boolean =>
  ip.value === cidr.first &&
  !hasZeros &&
  (ip.family === 4 || (!isMapped(ip) && `${formatIp(ip)}/${cidr.bits}` === text));

/** As Go writes it: an IPv4 prefix in IPv6's clothes is an IPv4 prefix. */
function standardCidr({ ip, cidr }: Prefix): string {
  const plain = unmapped(ip);
  return formatCidr(plain === ip ? cidr : cidrOf(plain, Math.max(0, cidr.bits - 96)));
}

/** What is wrong with a prefix, and what it is, if it can be read as strictly as Go reads it. */
export function readCidr(text: string): { readonly wrong: string[]; readonly cidr: Cidr | undefined } {
  const prefix = sloppyPrefix(text);
  if (prefix === undefined)
    return {
      wrong: ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'],
      cidr: undefined,
    };
  const { cidr, hasZeros, ip } = prefix;
  if (hasZeros) return { wrong: ['must not have leading 0s in IP or prefix length'], cidr: undefined };
  if (isMapped(ip)) return { wrong: ['must not have an IPv4-mapped IPv6 address'], cidr };
  const hasBits = ip.value !== cidr.first;
  return { wrong: hasBits ? ['must not have bits set beyond the prefix length'] : [], cidr };
}

export const cidrErrors: NameRule = (text) => readCidr(text).wrong;

export const canonicalCidrErrors: NameRule = (text) => {
  const wrong = cidrErrors(text);
  if (wrong.length > 0) return wrong;
  const canonical = formatCidr(parseCidr(text)!);
  return canonical === text ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`];
};

export function cidrWarnings(field: string, text: string): string[] {
  const prefix = sloppyPrefix(text);
  if (prefix === undefined || isCanonical(prefix, text)) return [];
  const [shown, standard] = [JSON.stringify(text), JSON.stringify(standardCidr(prefix))];
  const warnings: string[] = [];
  if (prefix.ip.value !== prefix.cidr.first) {
    const single = JSON.stringify(formatCidr(cidrOf(prefix.ip)));
    warnings.push(
      `${field}: CIDR value ${shown} is ambiguous in this context (should be ${standard} or ${single}?)`,
    );
  }
  if (prefix.hasZeros || isMapped(prefix.ip))
    warnings.push(`${field}: non-standard CIDR value ${shown} is invalid: use ${standard}`);
  if (warnings.length === 0 && prefix.ip.family === 6 && standard !== shown)
    warnings.push(`${field}: IPv6 CIDR value ${shown} should be in RFC 5952 canonical format (${standard})`);
  return warnings;
}

/** An address with the prefix of its network, as interfaces have both. */
export const interfaceAddressErrors: NameRule = (text) => {
  const prefix = sloppyPrefix(text);
  if (prefix === undefined)
    return ['must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)'];
  const { ip, cidr } = prefix;
  const bits = isMapped(ip) && cidr.bits > 32 ? cidr.bits - 96 : cidr.bits;
  const canonical = `${formatIp(unmapped(ip))}/${bits}`;
  return canonical === text ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`];
};

const linkLocalMulticast = ['224.0.0.0/24', ...Array.from('0123456789abcdef', (flags) => `ff${flags}2::/16`)];
/** Go's own ranges, which its messages do not always name in full. */
const specialIps: readonly (readonly [ranges: readonly string[], message: (text: string) => string])[] = [
  [['0.0.0.0/32', '::/128'], (text) => `may not be unspecified (${text})`],
  [['127.0.0.0/8', '::1/128'], () => 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  [['169.254.0.0/16', 'fe80::/10'], () => 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  [linkLocalMulticast, () => 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
];
const specialRanges = specialIps.map(([ranges, message]) => ({
  cidrs: ranges.map((range) => parseCidr(range)!),
  message,
}));

/** As upstream's ValidateEndpointIP: what every node has for itself is nobody's to give. */
export const specialIpErrors: NameRule = (text) => {
  const sloppy = sloppyIp(text);
  if (sloppy === undefined) return ['must be a valid IP address'];
  const ip = unmapped(sloppy);
  const special = specialRanges.find(({ cidrs }) => cidrs.some((cidr) => cidrContains(cidr, ip)));
  return special === undefined ? [] : [special.message(text)];
};

/** An address that a Service or an endpoint may have. */
export const usableIpErrors: NameRule = (ip) => {
  const wrong = ipErrors(ip);
  return wrong.length > 0 ? wrong : specialIpErrors(ip);
};
