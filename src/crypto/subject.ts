// What a certificate says of its holder, and how long it is good: read by node:crypto, no X.509 library loaded.
import { X509Certificate } from 'node:crypto';

export interface Subject {
  readonly CN?: string | undefined;
  readonly O: readonly string[];
}

/** The subject's common name and organizations: user name and groups of a client certificate. */
function certificateSubject(certificate: string | Uint8Array): Subject {
  const x509 = new X509Certificate(certificate);
  const subject: Record<string, unknown> = { ...x509.toLegacyObject().subject };
  const values = (name: string): string[] => {
    const value = subject[name];
    return Array.isArray(value) ? value.map(String) : typeof value === 'string' ? [value] : [];
  };
  return { CN: values('CN').at(-1), O: values('O') };
}

export interface CertificateFacts {
  readonly subject: Subject;
  readonly notBefore: number;
  readonly notAfter: number;
  /** `DNS:a` and `IP Address:10.0.0.1` entries, as OpenSSL prints them. */
  readonly subjectAltNames: readonly string[];
  /** SHA-256 of the DER, lower-case hex without colons. */
  readonly fingerprint: string;
  readonly serialNumber: string;
}

export function certificateFacts(certificate: string | Uint8Array): CertificateFacts {
  const x509 = new X509Certificate(certificate);
  return {
    subject: certificateSubject(certificate),
    notBefore: Date.parse(x509.validFrom),
    notAfter: Date.parse(x509.validTo),
    subjectAltNames: x509.subjectAltName === undefined ? [] : x509.subjectAltName.split(', '),
    fingerprint: x509.fingerprint256.replaceAll(':', '').toLowerCase(),
    serialNumber: x509.serialNumber.toLowerCase(),
  };
}

/** True when `issuer` signed `certificate`. Dates are not looked at. */
export function isIssuedBy(certificate: string | Uint8Array, issuer: string | Uint8Array): boolean {
  const child = new X509Certificate(certificate);
  const parent = new X509Certificate(issuer);
  return child.checkIssued(parent) && child.verify(parent.publicKey);
}
