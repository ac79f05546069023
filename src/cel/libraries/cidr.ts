// Kubernetes' CIDR library: prefixes, and what lies in them.
import { type Cidr, cidrContains, cidrOf, formatIp, type Ip, parseIpWithBits } from '../../base/ip.ts';
import { boolType, type CelType, intType, opaqueType, stringType } from '../cel-type.ts';
import type { FunctionDeclaration, Library } from '../declarations.ts';
import { type Estimate, fixed, plus, scaled, traversalFactor } from '../estimate.ts';
import { type CallCosts, nominal, readingCosts } from '../library-costs.ts';
import { CelError, Opaque, type Value, valueSize } from '../value.ts';
import { prefixFault } from './address-faults.ts';
import { IpValue, ipType, ipValue } from './ip.ts';

const cidrType = opaqueType('net.CIDR');

/** With the bits of the host that were written. */
class CidrValue extends Opaque {
  readonly type: CelType = cidrType;
  readonly ip: Ip;
  readonly cidr: Cidr;

  constructor(ip: Ip, cidr: Cidr) {
    super();
    this.ip = ip;
    this.cidr = cidr;
  }
  override get size(): number {
    return Math.ceil(this.cidr.bits / 8);
  }
  equalTo(other: Value): boolean {
    return (
      other instanceof CidrValue &&
      other.ip.family === this.ip.family &&
      other.ip.value === this.ip.value &&
      other.cidr.bits === this.cidr.bits
    );
  }
}

const parseError = 'network address parse error during conversion from string: ';

function cidrValue(text: string): CidrValue | CelError {
  const parsed = parseIpWithBits(text);
  const shown = JSON.stringify(text);
  if (!parsed) return new CelError(`${parseError}${parseError}${prefixFault(text)}`);
  const { ip, cidr } = parsed;
  if (ip.family === 6 && ip.value >> 32n === 0xffffn)
    return new CelError(`${parseError}IPv4-mapped IPv6 address ${shown} is not allowed`);
  return new CidrValue(ip, cidr);
}

const containsIp = ({ cidr }: CidrValue, other: Value): Value =>
  other instanceof IpValue ? cidrContains(cidr, other.ip) : other;
const containsCidr = ({ cidr }: CidrValue, other: Value): Value =>
  other instanceof CidrValue
    ? cidr.family === other.cidr.family && cidr.bits <= other.cidr.bits && cidrContains(cidr, other.ip)
    : other;

const traversed = (size: number): number => Math.ceil(size * traversalFactor);
const address: Estimate = { min: 4, max: 16 };
/** Bytes are compared; a text is read before. `isCidr`: what is in it is masked as well. */
const containing = (isCidr: boolean): CallCosts => ({
  cost: ([cidr, other], _result, overload) => {
    const size = valueSize(cidr!);
    const masking = isCidr ? traversed(size) + 1 : 0;
    return traversed(2 * size) + masking + (overload.endsWith('_string') ? traversed(valueSize(other!)) : 0);
  },
  estimate: ({ overload, args: [other], sizeOf }) => {
    const compared = scaled(plus(address, address), traversalFactor);
    const masking = isCidr ? plus(scaled(address, traversalFactor), fixed(1)) : fixed(0);
    const reading = overload.endsWith('_string') ? scaled(sizeOf(other!), traversalFactor) : fixed(0);
    return { cost: plus(compared, masking, reading) };
  },
});

const field = (
  name: string,
  id: string,
  result: CelType,
  call: (value: CidrValue) => Value,
): FunctionDeclaration => ({
  name,
  overloads: [{ id, member: true, params: [cidrType], result, call }],
  ...nominal,
});
const member = (id: string, param: CelType, call: (cidr: CidrValue, other: never) => Value) => ({
  id,
  member: true,
  params: [cidrType, param],
  result: boolType,
  call,
});

export const cidrLibrary: Library = {
  name: 'kubernetes.net.cidr',
  types: [cidrType],
  equality: { [cidrType.name]: () => ({ cost: fixed(1) }) },
  functions: [
    {
      name: 'cidr',
      overloads: [{ id: 'string_to_cidr', params: [stringType], result: cidrType, call: cidrValue }],
      ...readingCosts(1),
    },
    {
      name: 'isCIDR',
      overloads: [
        {
          id: 'is_cidr',
          params: [stringType],
          result: boolType,
          call: (text: string) => cidrValue(text) instanceof CidrValue,
        },
      ],
      ...readingCosts(1),
    },
    {
      name: 'containsIP',
      overloads: [
        member('cidr_contains_ip_string', stringType, (cidr, text: string) =>
          containsIp(cidr, ipValue(text)),
        ),
        member('cidr_contains_ip_ip', ipType, containsIp),
      ],
      ...containing(false),
    },
    {
      name: 'containsCIDR',
      overloads: [
        member('cidr_contains_cidr_string', stringType, (cidr, text: string) =>
          containsCidr(cidr, cidrValue(text)),
        ),
        member('cidr_contains_cidr', cidrType, containsCidr),
      ],
      ...containing(true),
    },
    field('ip', 'cidr_ip', ipType, ({ ip }) => new IpValue(ip)),
    field('prefixLength', 'cidr_prefix_length', intType, ({ cidr }) => BigInt(cidr.bits)),
    field('masked', 'cidr_masked', cidrType, ({ cidr }) => {
      const first: Ip = { family: cidr.family, value: cidr.first };
      return new CidrValue(first, cidrOf(first, cidr.bits));
    }),
    {
      name: 'string',
      overloads: [
        {
          id: 'cidr_to_string',
          params: [cidrType],
          result: stringType,
          call: ({ ip, cidr }: CidrValue) => `${formatIp(ip)}/${cidr.bits}`,
        },
      ],
    },
  ],
};
