// PKCS#10 certificate signing requests: made by nodes, read and signed by the control plane.
import type { webcrypto } from 'node:crypto';
import type { KeyPair } from './certificates.ts';
import {
  ecdsa,
  signCertificate,
  signingKey,
  subjectName,
  verifyingKey,
  x509Library,
} from './certificates.ts';
import { generatePrivateKey, privateKeyToPem } from './keys.ts';

export interface CertificateRequest {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ips: readonly string[];
  readonly emails: readonly string[];
  readonly uris: readonly string[];
  readonly publicKey: webcrypto.CryptoKey;
}

export async function createCertificateRequest(options: {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ips?: readonly string[];
}): Promise<{ readonly requestPem: string; readonly privateKeyPem: string }> {
  const x509 = await x509Library();
  const key = generatePrivateKey();
  const publicKey = await verifyingKey(key);
  const names = [
    ...(options.dnsNames ?? []).map((value) => ({ type: 'dns' as const, value })),
    ...(options.ips ?? []).map((value) => ({ type: 'ip' as const, value })),
  ];
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: subjectName(options.commonName, options.organizations),
    keys: { publicKey: publicKey as CryptoKey, privateKey: (await signingKey(key)) as CryptoKey },
    signingAlgorithm: ecdsa,
    extensions: names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)],
  });
  return { requestPem: `${request.toString('pem')}\n`, privateKeyPem: privateKeyToPem(key) };
}

const pemBlock =
  /-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----[A-Za-z0-9+/=\s]+-----END (?:NEW )?CERTIFICATE REQUEST-----/;

/** Reads and checks the signature. Throws Error when it is no request, or not signed by its own key. */
export async function parseCertificateRequest(pem: string): Promise<CertificateRequest> {
  if (!pemBlock.test(pem)) throw new Error('PEM block type must be CERTIFICATE REQUEST');
  const x509 = await x509Library();
  const request = new x509.Pkcs10CertificateRequest(pem.replaceAll('NEW CERTIFICATE', 'CERTIFICATE'));
  if (!(await request.verify())) throw new Error('x509: the signature of the request is wrong');
  const alternative = request.extensions.find((e) => e instanceof x509.SubjectAlternativeNameExtension);
  const names = alternative?.names.items ?? [];
  const ofType = (type: string): string[] => names.filter((n) => n.type === type).map((n) => n.value);
  return {
    commonName: request.subjectName.getField('CN').at(-1) ?? '',
    organizations: request.subjectName.getField('O'),
    dnsNames: ofType('dns'),
    ips: ofType('ip'),
    emails: ofType('email'),
    uris: ofType('url'),
    publicKey: (await request.publicKey.export()) as webcrypto.CryptoKey,
  };
}

/** Signs a request as it was asked for, with the usages and dates of the signer. */
export async function signCertificateRequest(
  ca: KeyPair,
  request: CertificateRequest,
  terms: {
    readonly usages: readonly ('server' | 'client')[];
    readonly notBefore: number;
    readonly notAfter: number;
  },
): Promise<string> {
  return await signCertificate(ca, { ...request, ...terms }, request.publicKey);
}
