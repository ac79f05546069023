// A certificate's own words, read from its bytes: names, usages, dates, key. Nothing is interpreted on the way.
import { type AlternativeNames, noNames, readAlternativeNames } from './alternative-names.ts';
import { childAt, childrenOf, DerError, type DerValue, derTag, oidOf, readDer, timeOf } from './der.ts';
import { type NameAttribute, readName } from './distinguished-name.ts';

export interface CertificateText {
  readonly subject: readonly NameAttribute[];
  readonly subjectDer: Uint8Array;
  readonly issuerDer: Uint8Array;
  readonly names: AlternativeNames;
  /** Object identifiers; empty: the certificate does not say. */
  readonly extendedKeyUsages: readonly string[];
  /** The bits of keyUsage, most significant first; undefined when it is not there. */
  readonly keyUsage: number | undefined;
  readonly isAuthority: boolean;
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  readonly notAfter: number;
  readonly publicKeyDer: Uint8Array;
  /** Lower-case hex. */
  readonly serialNumber: string;
}

export interface Extension {
  readonly oid: string;
  readonly value: Uint8Array;
}

export const extensionOid = {
  alternativeNames: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  keyUsage: '2.5.29.15',
  extendedKeyUsage: '2.5.29.37',
  subjectKeyIdentifier: '2.5.29.14',
  authorityKeyIdentifier: '2.5.29.35',
} as const;

const pemBlock = (label: string): RegExp =>
  new RegExp(`-----BEGIN ${label}-----([A-Za-z0-9+/=\\s]+)-----END ${label}-----`, 'g');

/** The bytes of every block of this label; `label` is a regular expression. */
export const pemBlocks = (text: string, label: string): Buffer[] =>
  [...text.matchAll(pemBlock(label))].map((match) => Buffer.from(match[1]!, 'base64'));

/** The extensions of a sequence; the same one twice could be read as either. */
export function readExtensions(sequence: DerValue, ofWhat: string): Extension[] {
  const found = childrenOf(sequence).map((extension) => {
    const parts = childrenOf(extension);
    const value = parts.at(-1);
    if (value?.tag !== derTag.octetString) throw new DerError('x509: malformed extension');
    return { oid: oidOf(childAt(parts, 0, derTag.oid)), value: value.content };
  });
  const seen = new Set<string>();
  for (const { oid } of found) {
    if (seen.has(oid)) throw new DerError(`x509: ${ofWhat} contains duplicate extension with OID "${oid}"`);
    seen.add(oid);
  }
  return found;
}

const isTrue = (value: DerValue | undefined): boolean =>
  value?.tag === derTag.boolean && value.content[0] === 0xff;

function keyUsageOf(value: Uint8Array | undefined): number | undefined {
  if (value === undefined) return undefined;
  const bits = readDer(value, derTag.bitString).content;
  return bits[1] ?? 0;
}

/** Throws DerError for what is no certificate. */
export function readCertificate(certificate: string | Uint8Array): CertificateText {
  const der = typeof certificate === 'string' ? pemBlocks(certificate, 'CERTIFICATE')[0] : certificate;
  if (der === undefined) throw new DerError('x509: no certificate in the PEM text');
  const signed = childAt(childrenOf(readDer(der, derTag.sequence)), 0, derTag.sequence);
  const all = childrenOf(signed);
  const fields = all[0]?.tag === 0xa0 ? all.slice(1) : all;
  const serial = childAt(fields, 0, derTag.integer);
  const issuer = childAt(fields, 2, derTag.sequence);
  const [notBefore, notAfter] = childrenOf(childAt(fields, 3, derTag.sequence));
  const subject = childAt(fields, 4, derTag.sequence);
  const key = childAt(fields, 5, derTag.sequence);
  if (notBefore === undefined || notAfter === undefined) throw new DerError('x509: malformed validity');
  const outer = fields.slice(6).find((field) => field.tag === 0xa3);
  const extensions =
    outer === undefined ? [] : readExtensions(readDer(outer.content, derTag.sequence), 'certificate');
  const extension = (oid: string): Uint8Array | undefined => extensions.find((one) => one.oid === oid)?.value;
  const usages = extension(extensionOid.extendedKeyUsage);
  const constraints = extension(extensionOid.basicConstraints);
  const names = extension(extensionOid.alternativeNames);
  return {
    subject: readName(subject),
    subjectDer: subject.raw,
    issuerDer: issuer.raw,
    names: names === undefined ? noNames : readAlternativeNames(names),
    extendedKeyUsages: usages === undefined ? [] : childrenOf(readDer(usages, derTag.sequence)).map(oidOf),
    keyUsage: keyUsageOf(extension(extensionOid.keyUsage)),
    isAuthority: constraints !== undefined && isTrue(childrenOf(readDer(constraints, derTag.sequence))[0]),
    notBefore: timeOf(notBefore),
    notAfter: timeOf(notAfter),
    publicKeyDer: key.raw,
    serialNumber: Buffer.from(serial.content).toString('hex').replace(/^00/, ''),
  };
}
