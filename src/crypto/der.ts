// Reads DER strictly: definite and shortest lengths, nothing behind the end. What is read is bytes, not text to interpret.

export interface DerValue {
  /** The identifier octet: class, constructed bit and number. */
  readonly tag: number;
  readonly content: Uint8Array;
  /** Identifier, length and content. */
  readonly raw: Uint8Array;
}

/** The bytes are no DER, or not what stands at this place. */
export class DerError extends Error {}

export const derTag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  sequence: 0x30,
  set: 0x31,
  numericString: 0x12,
  printableString: 0x13,
  teletexString: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmpString: 0x1e,
} as const;

function readAt(bytes: Uint8Array, at: number): DerValue {
  const tag = bytes[at];
  const first = bytes[at + 1];
  if (tag === undefined || first === undefined) throw new DerError('asn1: data is truncated');
  if ((tag & 0x1f) === 0x1f) throw new DerError('asn1: long tags are not used in certificates');
  let start = at + 2;
  let length = first;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 4) throw new DerError('asn1: the length is not definite');
    length = 0;
    for (let i = 0; i < count; i++) {
      const octet = bytes[start + i];
      if (octet === undefined) throw new DerError('asn1: data is truncated');
      length = length * 256 + octet;
    }
    start += count;
    if (length < 0x80 || length < 256 ** (count - 1)) throw new DerError('asn1: the length is not minimal');
  }
  if (start + length > bytes.length) throw new DerError('asn1: data is truncated');
  return { tag, content: bytes.subarray(start, start + length), raw: bytes.subarray(at, start + length) };
}

/** The one value that the bytes are. */
export function readDer(bytes: Uint8Array, tag?: number): DerValue {
  const value = readAt(bytes, 0);
  if (value.raw.length !== bytes.length) throw new DerError('asn1: trailing data');
  if (tag !== undefined && value.tag !== tag) throw new DerError(`asn1: tag ${value.tag} instead of ${tag}`);
  return value;
}

/** The values inside of a constructed one. */
export function childrenOf(value: DerValue): DerValue[] {
  const found: DerValue[] = [];
  for (let at = 0; at < value.content.length; ) {
    const child = readAt(value.content, at);
    found.push(child);
    at += child.raw.length;
  }
  return found;
}

/** The child at a place, which must have this tag. */
export function childAt(children: readonly DerValue[], index: number, tag: number): DerValue {
  const child = children[index];
  if (child?.tag !== tag) throw new DerError(`asn1: no value of tag ${tag} at place ${index}`);
  return child;
}

/** `2.5.4.3`. */
export function oidOf(value: DerValue): string {
  if (value.tag !== derTag.oid || value.content.length === 0)
    throw new DerError('asn1: no object identifier');
  const arcs: number[] = [];
  let arc = 0;
  let fresh = true;
  for (const octet of value.content) {
    if (fresh && octet === 0x80) throw new DerError('asn1: the object identifier is not minimal');
    arc = arc * 128 + (octet & 0x7f);
    if (arc > Number.MAX_SAFE_INTEGER) throw new DerError('asn1: the object identifier is too long');
    fresh = octet < 0x80;
    if (!fresh) continue;
    if (arcs.length === 0) {
      const top = Math.min(2, Math.floor(arc / 40));
      arcs.push(top, arc - top * 40);
    } else arcs.push(arc);
    arc = 0;
  }
  if (!fresh) throw new DerError('asn1: data is truncated');
  return arcs.join('.');
}

const printable = /^[A-Za-z0-9 '()+,\-./:=?*&]*$/;

/** What a PrintableString may hold; everything else is written as UTF8String. */
export const isPrintable = (text: string): boolean => /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(text);

/** The text of one of the string types that names have; a text that its type can't hold is an error. */
export function textOfDer({ tag, content }: DerValue): string {
  const latin = (): string => Buffer.from(content).toString('latin1');
  const fit = (text: string, form: RegExp, name: string): string => {
    if (!form.test(text)) throw new DerError(`x509: invalid ${name}`);
    return text;
  };
  switch (tag) {
    case derTag.utf8String:
      try {
        return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
      } catch {
        throw new DerError('x509: invalid UTF-8 string');
      }
    case derTag.printableString:
      return fit(latin(), printable, 'PrintableString');
    case derTag.numericString:
      return fit(latin(), /^[0-9 ]*$/, 'NumericString');
    case derTag.ia5String:
      return ia5Of(content);
    case derTag.teletexString:
      return latin();
    case derTag.bmpString: {
      if (content.length % 2 !== 0) throw new DerError('x509: invalid BMPString');
      return Buffer.from(content).swap16().toString('utf16le');
    }
    default:
      throw new DerError(`x509: unsupported string type: ${tag}`);
  }
}

/** The text of an IA5String, also of one with a tag of its own. */
export function ia5Of(content: Uint8Array): string {
  if (content.some((octet) => octet > 0x7f)) throw new DerError('x509: invalid IA5String');
  return Buffer.from(content).toString('latin1');
}

/** Milliseconds since the epoch, of UTCTime or GeneralizedTime as RFC 5280 has them. */
export function timeOf({ tag, content }: DerValue): number {
  const text = Buffer.from(content).toString('latin1');
  const match =
    tag === derTag.utcTime
      ? /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text)
      : tag === derTag.generalizedTime
        ? /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text)
        : null;
  if (match === null) throw new DerError('x509: malformed time');
  const [year, month, day, hour, minute, second] = match.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const full = tag === derTag.utcTime ? (year >= 50 ? 1900 + year : 2000 + year) : year;
  const date = new Date(Date.UTC(2000, month - 1, day, hour, minute, second));
  date.setUTCFullYear(full);
  return date.getTime();
}
