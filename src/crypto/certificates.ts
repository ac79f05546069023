// Makes X.509 certificates: a CA, serving certificates with subject alternative names, client certificates.
import { createPublicKey, randomBytes, webcrypto } from 'node:crypto';
import { type AlternativeNames, noNames, sameNames, shortestIp } from './alternative-names.ts';
import { type NameAttribute, sameName, subjectOf, typedName } from './distinguished-name.ts';
import type { KeyObject } from './keys.ts';
import { generatePrivateKey, privateKeyToPem } from './keys.ts';
import { readCertificate } from './read-certificate.ts';
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

// Loaded when a certificate is first made: a restart that finds its certificates in place never pays for it.
let library: Promise<typeof import('@peculiar/x509')> | undefined;
export function x509Library(): Promise<typeof import('@peculiar/x509')> {
  library ??= import('reflect-metadata')
    .then(() => import('@peculiar/x509'))
    .then((loaded) => {
      // A bundler may hand over the CommonJS build, whose names lie under `default`.
      const x509 = 'cryptoProvider' in loaded ? loaded : (loaded as { default: typeof loaded }).default;
      x509.cryptoProvider.set(webcrypto as Crypto);
      return x509;
    })
    .catch((error: unknown) => {
      library = undefined; // the next one tries again
      throw error;
    });
  return library;
}

export const ecdsa: { readonly name: string; readonly namedCurve: string; readonly hash: string } = {
  name: 'ECDSA',
  namedCurve: 'P-256',
  hash: 'SHA-256',
};
const extendedKeyUsage: Record<CertificateUsage, string> = {
  server: '1.3.6.1.5.5.7.3.1',
  client: '1.3.6.1.5.5.7.3.2',
};

/** The bit of each in the first byte of keyUsage. */
const keyUseBits: Record<KeyUse, number> = { 'digital signature': 0x80, 'key encipherment': 0x20 };
export const keyUses: readonly KeyUse[] = ['digital signature', 'key encipherment'];

/** None where nothing was asked for, as Go's library. */
function keyUsageExtension(
  x509: typeof import('@peculiar/x509'),
  uses: readonly KeyUse[],
): import('@peculiar/x509').Extension[] {
  const { digitalSignature, keyEncipherment } = x509.KeyUsageFlags;
  const flags = { 'digital signature': digitalSignature, 'key encipherment': keyEncipherment };
  const all = uses.reduce((sum, use) => sum | flags[use], 0);
  return uses.length === 0 ? [] : [new x509.KeyUsagesExtension(all, true)];
}

/** The WebCrypto form of a P-256 or RSA private key, for signing with SHA-256. */
export async function signingKey(key: KeyObject): Promise<webcrypto.CryptoKey> {
  const algorithm = key.asymmetricKeyType === 'rsa' ? { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } : ecdsa;
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' });
  return await webcrypto.subtle.importKey('pkcs8', new Uint8Array(pkcs8), algorithm, true, ['sign']);
}

/** The WebCrypto form of the public half of a P-256 key. */
export async function verifyingKey(key: KeyObject): Promise<webcrypto.CryptoKey> {
  return await webcrypto.subtle.importKey('spki', spkiOf(key), ecdsa, true, ['verify']);
}

const spkiOf = (key: KeyObject): Uint8Array<ArrayBuffer> =>
  new Uint8Array(
    (key.type === 'public' ? key : createPublicKey(key)).export({ type: 'spki', format: 'der' }),
  );

/** A positive serial number of 16 bytes. */
function newSerialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0]! & 0x7f) | 0x01;
  return bytes.toString('hex');
}

/** The extension that names them; none for none. The values are the names' bytes, which nothing interprets. */
export function alternativeNamesExtension(
  x509: typeof import('@peculiar/x509'),
  names: AlternativeNames,
): import('@peculiar/x509').Extension[] {
  const all = [
    ...names.dnsNames.map((value) => ({ type: 'dns' as const, value })),
    ...names.emails.map((value) => ({ type: 'email' as const, value })),
    ...names.ips.map((value) => ({ type: 'ip' as const, value })),
    ...names.uris.map((value) => ({ type: 'url' as const, value })),
  ];
  return all.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(all)];
}

export async function createCertificateAuthority(options: {
  readonly commonName: string;
  readonly notBefore: number;
  readonly notAfter: number;
}): Promise<KeyPair> {
  const x509 = await x509Library();
  const privateKey = generatePrivateKey();
  const publicKey = await verifyingKey(privateKey);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: newSerialNumber(),
    subject: typedName(x509, subjectOf(options.commonName)),
    issuer: typedName(x509, subjectOf(options.commonName)),
    notBefore: new Date(options.notBefore),
    notAfter: new Date(options.notAfter),
    signingAlgorithm: ecdsa,
    publicKey: publicKey as CryptoKey,
    signingKey: (await signingKey(privateKey)) as CryptoKey,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.digitalSignature |
          x509.KeyUsageFlags.keyEncipherment |
          x509.KeyUsageFlags.keyCertSign,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(publicKey as CryptoKey),
      new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: options.commonName }]),
    ],
  });
  return { certificatePem: `${certificate.toString('pem')}\n`, privateKey };
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
    'key usages': (made.keyUsage ?? 0) !== terms.keyUses.reduce((bits, use) => bits | keyUseBits[use], 0),
    usages: made.extendedKeyUsages.join() !== wanted,
    'basic constraints': made.isAuthority,
    lifetime:
      seconds(made.notBefore) !== seconds(terms.notBefore) ||
      seconds(made.notAfter) !== seconds(terms.notAfter),
    'public key': !Buffer.from(made.publicKeyDer).equals(spkiOf(publicKey)),
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
  const x509 = await x509Library();
  const issuer = new x509.X509Certificate(ca.certificatePem);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: newSerialNumber(),
    subject: typedName(x509, terms.subject),
    issuer: issuer.subjectName,
    notBefore: new Date(terms.notBefore),
    notAfter: new Date(terms.notAfter),
    signingAlgorithm:
      ca.privateKey.asymmetricKeyType === 'rsa' ? { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } : ecdsa,
    publicKey: spkiOf(publicKey),
    signingKey: (await signingKey(ca.privateKey)) as CryptoKey,
    extensions: [
      ...keyUsageExtension(x509, terms.keyUses),
      new x509.ExtendedKeyUsageExtension(terms.usages.map((usage) => extendedKeyUsage[usage])),
      new x509.BasicConstraintsExtension(false, undefined, true),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      ...alternativeNamesExtension(x509, terms.names),
    ],
  });
  const pem = `${certificate.toString('pem')}\n`;
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
