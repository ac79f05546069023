// Makes X.509 certificates: a CA, serving certificates with subject alternative names, client certificates.
import { createPublicKey, randomBytes, webcrypto } from 'node:crypto';
import type { KeyObject } from './keys.ts';
import { generatePrivateKey, privateKeyToPem } from './keys.ts';

export interface KeyPair {
  readonly certificatePem: string;
  readonly privateKey: KeyObject;
}

export interface KeyPairPem {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

export type CertificateUsage = 'server' | 'client';

export interface CertificateRequestFacts {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly usages: readonly CertificateUsage[];
  readonly dnsNames?: readonly string[];
  readonly ips?: readonly string[];
  /** Milliseconds since the epoch. */
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

/** The WebCrypto form of a P-256 or RSA private key, for signing with SHA-256. */
export async function signingKey(key: KeyObject): Promise<webcrypto.CryptoKey> {
  const algorithm = key.asymmetricKeyType === 'rsa' ? { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } : ecdsa;
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' });
  return await webcrypto.subtle.importKey('pkcs8', new Uint8Array(pkcs8), algorithm, true, ['sign']);
}

/** The WebCrypto form of the public half of a P-256 key. */
export async function verifyingKey(key: KeyObject): Promise<webcrypto.CryptoKey> {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  return await webcrypto.subtle.importKey('spki', new Uint8Array(spki), ecdsa, true, ['verify']);
}

/** A positive serial number of 16 bytes. */
function newSerialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0]! & 0x7f) | 0x01;
  return bytes.toString('hex');
}

/** The relative distinguished names of a subject, organizations first as Go writes them. */
export const subjectName = (
  commonName: string,
  organizations: readonly string[] = [],
): Record<string, string[]>[] => [...organizations.map((o) => ({ O: [o] })), { CN: [commonName] }];

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
    subject: subjectName(options.commonName),
    issuer: subjectName(options.commonName),
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

/** A certificate for a public key of someone else, as from a CSR. */
export async function signCertificate(
  ca: KeyPair,
  facts: CertificateRequestFacts,
  publicKey: webcrypto.CryptoKey,
): Promise<string> {
  const x509 = await x509Library();
  const issuer = new x509.X509Certificate(ca.certificatePem);
  const names = [
    ...(facts.dnsNames ?? []).map((value) => ({ type: 'dns' as const, value })),
    ...(facts.ips ?? []).map((value) => ({ type: 'ip' as const, value })),
  ];
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: newSerialNumber(),
    subject: subjectName(facts.commonName, facts.organizations),
    issuer: issuer.subjectName.toJSON(),
    notBefore: new Date(facts.notBefore),
    notAfter: new Date(facts.notAfter),
    signingAlgorithm:
      ca.privateKey.asymmetricKeyType === 'rsa' ? { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } : ecdsa,
    publicKey: publicKey as CryptoKey,
    signingKey: (await signingKey(ca.privateKey)) as CryptoKey,
    extensions: [
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyEncipherment,
        true,
      ),
      new x509.ExtendedKeyUsageExtension(facts.usages.map((usage) => extendedKeyUsage[usage])),
      new x509.BasicConstraintsExtension(false, undefined, true),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
    ],
  });
  return `${certificate.toString('pem')}\n`;
}

/** A new key and a certificate for it. */
export async function issueCertificate(ca: KeyPair, facts: CertificateRequestFacts): Promise<KeyPairPem> {
  const privateKey = generatePrivateKey();
  const certificatePem = await signCertificate(ca, facts, await verifyingKey(privateKey));
  return { certificatePem, privateKeyPem: privateKeyToPem(privateKey) };
}
