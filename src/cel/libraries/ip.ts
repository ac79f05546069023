// Kubernetes' IP library: addresses, as Go's net/netip reads them.
import { formatIp, type Ip, parseIp } from '../../base/ip.ts';
import { boolType, type CelType, intType, opaqueType, stringType } from '../cel-type.ts';
import type { FunctionDeclaration, Library } from '../declarations.ts';
import { fixed } from '../estimate.ts';
import { type CallCosts, nominal, readingCosts } from '../library-costs.ts';
import { CelError, Opaque, type Value } from '../value.ts';
import { addressFault } from './address-faults.ts';

export const ipType: CelType = opaqueType('net.IP');

export class IpValue extends Opaque {
  readonly type: CelType = ipType;
  readonly ip: Ip;

  constructor(ip: Ip) {
    super();
    this.ip = ip;
  }
  override get size(): number {
    return this.ip.family === 4 ? 4 : 16;
  }
  equalTo(other: Value): boolean {
    return other instanceof IpValue && other.ip.family === this.ip.family && other.ip.value === this.ip.value;
  }
}

const mapped = (ip: Ip): boolean => ip.family === 6 && ip.value >> 32n === 0xffffn;

export function ipValue(text: string): IpValue | CelError {
  const ip = parseIp(text);
  const shown = JSON.stringify(text);
  if (!ip)
    return new CelError(
      `IP Address ${shown} parse error during conversion from string: ${addressFault(text)}`,
    );
  if (ip.zone !== undefined) return new CelError(`IP address ${shown} with zone value is not allowed`);
  return mapped(ip) ? new CelError(`IPv4-mapped IPv6 address ${shown} is not allowed`) : new IpValue(ip);
}
const inRange = (
  { family, value }: Ip,
  v4: (value: number) => boolean,
  v6: (value: bigint) => boolean,
): boolean => (family === 4 ? v4(Number(value)) : v6(value));
const isLoopback = (ip: Ip): boolean =>
  inRange(
    ip,
    (v4) => v4 >>> 24 === 127,
    (v6) => v6 === 1n,
  );
const isLinkLocalUnicast = (ip: Ip): boolean =>
  inRange(
    ip,
    (v4) => v4 >>> 16 === 0xa9fe,
    (v6) => v6 >> 118n === 0x3fan,
  );
const isLinkLocalMulticast = (ip: Ip): boolean =>
  inRange(
    ip,
    (v4) => v4 >>> 8 === 0xe00000,
    (v6) => v6 >> 120n === 0xffn && ((v6 >> 112n) & 0xfn) === 2n,
  );
const isMulticast = (ip: Ip): boolean =>
  inRange(
    ip,
    (v4) => v4 >>> 28 === 0xe,
    (v6) => v6 >> 120n === 0xffn,
  );
const isUnspecified = ({ value }: Ip): boolean => value === 0n;
const isGlobalUnicast = (ip: Ip): boolean =>
  !isUnspecified(ip) &&
  !isLoopback(ip) &&
  !isMulticast(ip) &&
  !isLinkLocalUnicast(ip) &&
  !(ip.family === 4 && ip.value === 0xffffffffn);

const ask = (name: string, id: string, question: (ip: Ip) => boolean): FunctionDeclaration => ({
  name,
  overloads: [
    { id, member: true, params: [ipType], result: boolType, call: ({ ip }: IpValue) => question(ip) },
  ],
  ...nominal,
});
const ofText = (
  name: string,
  id: string,
  result: CelType,
  call: (text: string) => Value,
  costs: CallCosts,
): FunctionDeclaration => ({ name, overloads: [{ id, params: [stringType], result, call }], ...costs });

/** `ip(text)` reads a text, `x.ip()` of a CIDR looks at a field. */
const ipCosts: CallCosts = {
  cost: (args, result, overload) =>
    overload === 'cidr_ip' ? 1 : readingCosts(1).cost(args, result, overload),
  estimate: (call) => (call.overload === 'cidr_ip' ? { cost: fixed(1) } : readingCosts(1).estimate(call)),
};

export const ipLibrary: Library = {
  name: 'kubernetes.net.ip',
  types: [ipType],
  equality: { [ipType.name]: () => ({ cost: fixed(1) }) },
  functions: [
    ofText('ip', 'string_to_ip', ipType, ipValue, ipCosts),
    ofText(
      'ip.isCanonical',
      'ip_is_canonical',
      boolType,
      (text) => {
        const value = ipValue(text);
        return value instanceof CelError ? value : formatIp(value.ip) === text;
      },
      readingCosts(2),
    ),
    ofText('isIP', 'is_ip', boolType, (text) => ipValue(text) instanceof IpValue, readingCosts(1)),
    {
      name: 'family',
      overloads: [
        {
          id: 'ip_family',
          member: true,
          params: [ipType],
          result: intType,
          call: ({ ip }: IpValue) => BigInt(ip.family),
        },
      ],
      ...nominal,
    },
    ask('isUnspecified', 'ip_is_unspecified', isUnspecified),
    ask('isLoopback', 'ip_is_loopback', isLoopback),
    ask('isLinkLocalMulticast', 'ip_is_link_local_multicast', isLinkLocalMulticast),
    ask('isLinkLocalUnicast', 'ip_is_link_local_unicast', isLinkLocalUnicast),
    ask('isGlobalUnicast', 'ip_is_global_unicast', isGlobalUnicast),
    {
      name: 'string',
      overloads: [
        { id: 'ip_to_string', params: [ipType], result: stringType, call: ({ ip }: IpValue) => formatIp(ip) },
      ],
    },
  ],
};
