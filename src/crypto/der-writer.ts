// Writes DER: shortest lengths, values in the order in which they are given. What reads it back is other code, in `der.ts`.
import { DerError, derTag, isPrintable } from './der.ts';

/** One value of what its parts are. */
export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const octets: number[] = [];
  for (let rest = content.length; rest > 0; rest = Math.floor(rest / 256)) octets.unshift(rest % 256);
  const length = content.length < 0x80 ? [content.length] : [0x80 | octets.length, ...octets];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

/** `2.5.4.3`. */
export function derOid(oid: string): Buffer {
  const [top, second, ...others] = oid.split('.').map(Number);
  if (!/^[0-2]\.\d+(?:\.\d+)*$/.test(oid) || top === undefined || second === undefined)
    throw new DerError(`asn1: ${JSON.stringify(oid)} is no object identifier`);
  const octets = [top * 40 + second, ...others].flatMap((arc) => {
    const groups = [arc % 128];
    for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128))
      groups.unshift(0x80 | (rest % 128));
    return groups;
  });
  return der(derTag.oid, Buffer.from(octets));
}

/** Whole octets, or without some bits at the end of the last one. */
export const derBits = (octets: Uint8Array, unusedBits = 0): Buffer =>
  der(derTag.bitString, Buffer.from([unusedBits]), octets);

/** As RFC 5280 wants it: UTCTime until 2049, then GeneralizedTime; without fractions of a second. */
export function derTime(ms: number): Buffer {
  const [date, time] = new Date(ms).toISOString().split(/[T.]/) as [string, string];
  const digits = `${date}${time}`.replaceAll(/[-:]/g, '');
  if (!/^\d{14}$/.test(digits)) throw new DerError(`x509: cannot represent time as GeneralizedTime`);
  const isShort = digits >= '1950' && digits < '2050';
  return isShort
    ? der(derTag.utcTime, Buffer.from(`${digits.slice(2)}Z`))
    : der(derTag.generalizedTime, Buffer.from(`${digits}Z`));
}

/** A text of a name, in the smallest type that can hold it. Half a letter would be written as another. */
export function derText(text: string): Buffer {
  if (!text.isWellFormed()) throw new DerError('asn1: string not valid UTF-8');
  return der(isPrintable(text) ? derTag.printableString : derTag.utf8String, Buffer.from(text));
}

/** Octets of an IA5String, for whatever tag it has: a letter beyond them is refused, and not written as another. */
export function ia5Bytes(text: string): Buffer {
  for (let i = 0; i < text.length; i++)
    if (text.charCodeAt(i) > 0x7f)
      throw new DerError(`x509: ${JSON.stringify(text)} cannot be encoded as an IA5String`);
  return Buffer.from(text, 'latin1');
}
