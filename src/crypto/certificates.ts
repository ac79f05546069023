// Makes X.509 certificates: a CA, serving certificates with subject alternative names, client certificates.
import { randomBytes } from 'node:crypto';
import {
  type AlternativeNames,
  hasNames,
  noNames,
  sameNames,
  shortestIp,
  writeAlternativeNames,
} from './alternative-names.ts';
import { derTag } from './der.ts';
import { der, derBits, derOid, derTime } from './der-writer.ts';
import { type NameAttribute, sameName, subjectOf, writeName } from './distinguished-name.ts';
import type { KeyObject } from './keys.ts';
import { generatePrivateKey, privateKeyToPem } from './keys.ts';
import { extensionOid, readCertificate } from './read-certificate.ts';
import {
  derExtension,
  keyIdentifier,
  publicKeyDer,
  signatureAlgorithm,
  signedDer,
  toPem,
} from './signed-der.ts';
import { isIssuedBy } from './subject.ts';

export interface KeyPair {
  readonly certificatePem: string;
  readonly privateKey: KeyObject;
}

export interface KeyPairPem {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

export type CertificateUsage = 'server' | 'client';

/** What a key may do, in the words of a CertificateSigningRequest. */
export type KeyUse = 'digital signature' | 'key encipherment';

/** What a certificate is to say. */
export interface CertificateTerms {
  readonly keyUses: readonly KeyUse[];
  readonly subject: readonly NameAttribute[];
  readonly names: AlternativeNames;
  readonly usages: readonly CertificateUsage[];
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  readonly notAfter: number;
}

export interface CertificateRequestFacts {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly usages: readonly CertificateUsage[];
  readonly dnsNames?: readonly string[];
  readonly ips?: readonly string[];
  readonly notBefore: number;
  readonly notAfter: number;
}

const extendedKeyUsage: Record<CertificateUsage, string> = {
  server: '1.3.6.1.5.5.7.3.1',
  client: '1.3.6.1.5.5.7.3.2',
};

/** The bit of each in the first byte of keyUsage. */
const keyUseBits: Record<KeyUse, number> = { 'digital signature': 0x80, 'key encipherment': 0x20 };
export const keyUses: readonly KeyUse[] = ['digital signature', 'key encipherment'];

/** None where nothing was asked for, as Go's library. */
const keyUsageExtension = (bits: number): Buffer[] =>
  bits === 0
    ? []
    : [
        derExtension(
          extensionOid.keyUsage,
          derBits(Buffer.from([bits]), Math.clz32(bits & -bits) ^ 31),
          true,
        ),
      ];

const bitsOf = (uses: readonly KeyUse[]): number => uses.reduce((bits, use) => bits | keyUseBits[use], 0);

/** A positive serial number of 16 bytes. */
function newSerialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0]! & 0x7f) | 0x01;
  return bytes;
}

/** What goes into a certificate, in pieces of DER. */
interface Pieces {
  readonly serialNumber: Buffer;
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly publicKey: Uint8Array;
  readonly extensions: readonly Uint8Array[];
}

const version3 = der(0xa0, der(derTag.integer, Buffer.from([2])));

function certificateDer(pieces: Pieces, signingKey: KeyObject): Buffer {
  const said = der(
    derTag.sequence,
    version3,
    der(derTag.integer, pieces.serialNumber),
    signatureAlgorithm(signingKey),
    pieces.issuer,
    der(derTag.sequence, derTime(pieces.notBefore), derTime(pieces.notAfter)),
    pieces.subject,
    pieces.publicKey,
    der(0xa3, der(derTag.sequence, ...pieces.extensions)),
  );
  return signedDer(said, signingKey);
}

const keyCertSign = 0x04;

export async function createCertificateAuthority(options: {
  readonly commonName: string;
  readonly notBefore: number;
  readonly notAfter: number;
}): Promise<KeyPair> {
  const { commonName, notBefore, notAfter } = options;
  const privateKey = generatePrivateKey();
  const publicKey = publicKeyDer(privateKey);
  const name = writeName(subjectOf(commonName));
  const isAuthority = der(derTag.sequence, der(derTag.boolean, Buffer.from([0xff])));
  const extensions = [
    derExtension(extensionOid.basicConstraints, isAuthority, true),
    ...keyUsageExtension(bitsOf(keyUses) | keyCertSign),
    derExtension(extensionOid.subjectKeyIdentifier, der(derTag.octetString, keyIdentifier(publicKey))),
    derExtension(
      extensionOid.alternativeNames,
      writeAlternativeNames({ ...noNames, dnsNames: [commonName] }),
    ),
  ];
  const serialNumber = newSerialNumber();
  const pieces = { serialNumber, issuer: name, subject: name, notBefore, notAfter, publicKey, extensions };
  return { certificatePem: toPem('CERTIFICATE', certificateDer(pieces, privateKey)), privateKey };
}

/** The certificate that was made is not the one that was to be made; it is not handed out. */
export class CertificateMismatchError extends Error {}

const seconds = (ms: number): number => Math.floor(ms / 1000);

/** Reads back what was signed, by other code than the one that wrote it, and compares it with what was approved. */
export function checkSigned(pem: string, ca: KeyPair, terms: CertificateTerms, publicKey: KeyObject): void {
  const made = readCertificate(pem);
  const wanted = terms.usages.map((usage) => extendedKeyUsage[usage]).join();
  const ips = terms.names.ips.map(shortestIp);
  const differs = Object.entries({
    subject: !sameName(made.subject, terms.subject),
    'subject alternative names': !sameNames(made.names, { ...terms.names, ips }),
    'key usages': (made.keyUsage ?? 0) !== bitsOf(terms.keyUses),
    usages: made.extendedKeyUsages.join() !== wanted,
    'basic constraints': made.isAuthority,
    lifetime:
      seconds(made.notBefore) !== seconds(terms.notBefore) ||
      seconds(made.notAfter) !== seconds(terms.notAfter),
    'public key': !Buffer.from(made.publicKeyDer).equals(publicKeyDer(publicKey)),
    issuer:
      !Buffer.from(made.issuerDer).equals(readCertificate(ca.certificatePem).subjectDer) ||
      !isIssuedBy(pem, ca.certificatePem),
  })
    .filter(([, wrong]) => wrong)
    .map(([what]) => what);
  if (differs.length > 0)
    throw new CertificateMismatchError(
      `the signed certificate differs from what was approved: ${differs.join(', ')}`,
    );
}

/** A certificate for a public key of someone else, as from a CSR. Throws CertificateMismatchError. */
export async function signCertificate(
  ca: KeyPair,
  terms: CertificateTerms,
  publicKey: KeyObject,
): Promise<string> {
  const issuer = readCertificate(ca.certificatePem);
  const ofIssuer = der(derTag.sequence, der(0x80, keyIdentifier(issuer.publicKeyDer)));
  const usages = der(derTag.sequence, ...terms.usages.map((usage) => derOid(extendedKeyUsage[usage])));
  const pieces = {
    serialNumber: newSerialNumber(),
    issuer: issuer.subjectDer,
    subject: writeName(terms.subject),
    notBefore: terms.notBefore,
    notAfter: terms.notAfter,
    publicKey: publicKeyDer(publicKey),
    extensions: [
      ...keyUsageExtension(bitsOf(terms.keyUses)),
      derExtension(extensionOid.extendedKeyUsage, usages),
      derExtension(extensionOid.basicConstraints, der(derTag.sequence), true),
      derExtension(extensionOid.authorityKeyIdentifier, ofIssuer),
      ...(hasNames(terms.names)
        ? [derExtension(extensionOid.alternativeNames, writeAlternativeNames(terms.names))]
        : []),
    ],
  };
  const pem = toPem('CERTIFICATE', certificateDer(pieces, ca.privateKey));
  checkSigned(pem, ca, terms, publicKey);
  return pem;
}

/** A new key and a certificate for it. */
export async function issueCertificate(ca: KeyPair, facts: CertificateRequestFacts): Promise<KeyPairPem> {
  const { commonName, organizations, dnsNames = [], ips = [], usages, notBefore, notAfter } = facts;
  const privateKey = generatePrivateKey();
  const subject = subjectOf(commonName, organizations);
  const names = { ...noNames, dnsNames, ips };
  const terms = { subject, names, keyUses, usages, notBefore, notAfter };
  const certificatePem = await signCertificate(ca, terms, privateKey);
  return { certificatePem, privateKeyPem: privateKeyToPem(privateKey) };
}
