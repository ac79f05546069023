// What a certificate says of its holder, and who vouches for it: read without the X.509 library.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { AlternativeNames } from './alternative-names.ts';
import { commonNameOf, type NameAttribute, organizationsOf, uidsOf } from './distinguished-name.ts';
import { pemBlocks, readCertificate } from './read-certificate.ts';

export interface Subject {
  readonly CN?: string | undefined;
  readonly O: readonly string[];
  /** Left out where there is none, as mostly. */
  readonly uids?: readonly string[];
}

function subjectIn(name: readonly NameAttribute[]): Subject {
  const uids = uidsOf(name);
  const subject = { CN: commonNameOf(name), O: organizationsOf(name) };
  return uids.length === 0 ? subject : { ...subject, uids };
}

export interface CertificateFacts {
  readonly subject: Subject;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly names: AlternativeNames;
  /** SHA-256 of the DER, lower-case hex without colons. */
  readonly fingerprint: string;
  readonly serialNumber: string;
}

export function certificateFacts(certificate: string | Uint8Array): CertificateFacts {
  const text = readCertificate(certificate);
  const x509 = new X509Certificate(certificate);
  return {
    subject: subjectIn(text.subject),
    notBefore: text.notBefore,
    notAfter: text.notAfter,
    names: text.names,
    fingerprint: x509.fingerprint256.replaceAll(':', '').toLowerCase(),
    serialNumber: text.serialNumber,
  };
}

/** True when a certificate of the bundle `issuers` signed `certificate`. Dates are not looked at. */
export function isIssuedBy(certificate: string | Uint8Array, issuers: string | Uint8Array): boolean {
  const child = new X509Certificate(certificate);
  const bundle = typeof issuers === 'string' ? pemBlocks(issuers, 'CERTIFICATE') : [issuers];
  return bundle.some((issuer) => {
    const parent = new X509Certificate(issuer);
    return child.checkIssued(parent) && child.verify(parent.publicKey);
  });
}

/** True when the certificate is for this private key. */
export const isPairOf = (certificatePem: string, privateKeyPem: string): boolean =>
  new X509Certificate(certificatePem).checkPrivateKey(createPrivateKey(privateKeyPem));

/** Remembers for each certificate whether a bundle that may change vouches for it; a new bundle is asked anew. */
export function bundleCheck(bundle: () => string): (certificate: { readonly raw: Uint8Array }) => boolean {
  const known = new WeakMap<object, { readonly bundle: string; readonly good: boolean }>();
  return (certificate) => {
    const now = bundle();
    const hit = known.get(certificate);
    if (hit !== undefined && hit.bundle === now) return hit.good;
    const good = isIssuedBy(certificate.raw, now);
    known.set(certificate, { bundle: now, good });
    return good;
  };
}

/** What is wrong with a text that ought to hold certificates; undefined: nothing. */
export function bundleFault(pem: string): string | undefined {
  const blocks = pemBlocks(pem, 'CERTIFICATE');
  if (blocks.length === 0) return 'data does not contain any valid RSA or ECDSA certificates';
  try {
    for (const block of blocks) new X509Certificate(block);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
