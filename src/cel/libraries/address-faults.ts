// Why a text is no IP address or prefix, in the words of Go's net/netip.
import { parseIp } from '../../base/ip.ts';

interface Fault {
  readonly message: string;
  /** From where on it is wrong. */
  readonly at?: string;
}
const shown = (text: string): string => JSON.stringify(text);

/** Of what `parseIp` refuses. */
export function addressFault(text: string): string {
  const { message, at } = faultOf(text);
  return `ParseAddr(${shown(text)}): ${message}${at === undefined ? '' : ` (at ${shown(at)})`}`;
}

/** Of what `parseIpWithBits` refuses. */
export function prefixFault(text: string): string {
  const slash = text.lastIndexOf('/');
  const address = text.slice(0, slash);
  const bits = text.slice(slash + 1);
  const ip = slash === -1 ? undefined : parseIp(address);
  const fault =
    slash === -1
      ? "no '/'"
      : !ip
        ? addressFault(address)
        : ip.zone !== undefined
          ? 'IPv6 zones cannot be present in a prefix'
          : /^(?:0|[1-9]\d*)$/.test(bits)
            ? 'prefix length out of range'
            : `bad bits after slash: ${shown(bits)}`;
  return `netip.ParsePrefix(${shown(text)}): ${fault}`;
}

function faultOf(text: string): Fault {
  const first = /[.:%]/.exec(text)?.[0];
  if (first === '.') return v4Fault(text) ?? { message: 'unable to parse IP' };
  if (first === ':') return v6Fault(text);
  return { message: first === '%' ? 'missing IPv6 address' : 'unable to parse IP' };
}

function v4Fault(text: string): Fault | undefined {
  let [fields, field] = [0, ''];
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!;
    if (/\d/.test(character)) {
      if (field === '0') return { message: 'IPv4 field has octet with leading zero' };
      field += character;
      if (Number(field) > 255) return { message: 'IPv4 field has value >255' };
    } else if (character !== '.') return { message: 'unexpected character', at: text.slice(i) };
    else if (field === '' || i === text.length - 1)
      return { message: 'IPv4 field must have at least one digit', at: text.slice(i) };
    else if (fields === 3) return { message: 'IPv4 address too long' };
    else [fields, field] = [fields + 1, ''];
  }
  return fields < 3 ? { message: 'IPv4 address too short' } : undefined;
}

function v6Fault(text: string): Fault {
  const percent = text.indexOf('%');
  if (percent === text.length - 1) return { message: 'zone must be a non-empty string' };
  let rest = percent === -1 ? text : text.slice(0, percent);
  let hasGap = rest.startsWith('::');
  if (hasGap) rest = rest.slice(2);
  let groups = 0;
  while (groups < 8 && rest !== '') {
    const group = groupOf(rest);
    if (typeof group !== 'string') return group;
    if (rest[group.length] === '.') {
      const embedded = embeddedFault(rest, groups, hasGap);
      if (embedded) return embedded;
      groups += 2;
      rest = '';
      break;
    }
    groups++;
    rest = rest.slice(group.length);
    if (rest === '') break;
    if (rest[0] !== ':') return { message: 'unexpected character, want colon', at: rest };
    if (rest.length === 1) return { message: 'colon must be followed by more characters', at: rest };
    rest = rest.slice(1);
    if (rest[0] !== ':') continue;
    if (hasGap) return { message: 'multiple :: in address', at: rest };
    hasGap = true;
    rest = rest.slice(1);
  }
  if (rest !== '') return { message: 'trailing garbage after address', at: rest };
  if (groups < 8) return { message: 'address string too short' };
  return { message: 'the :: must expand to at least one field of zeros' };
}

function groupOf(rest: string): string | Fault {
  const digits = /^[0-9a-fA-F]*/.exec(rest)![0];
  if (digits.length > 4) return { message: 'each group must have 4 or less digits', at: rest };
  if (digits === '') return { message: 'each colon-separated field must have at least one digit', at: rest };
  return digits;
}

function embeddedFault(rest: string, groups: number, hasGap: boolean): Fault | undefined {
  if (!hasGap && groups !== 6)
    return { message: 'embedded IPv4 address must replace the final 2 fields of the address', at: rest };
  if (groups > 6)
    return { message: 'too many hex fields to fit an embedded IPv4 at the end of the address', at: rest };
  return v4Fault(rest);
}
