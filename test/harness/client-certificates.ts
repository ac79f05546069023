// Certificates that a test's caller shows: of any issuer, name and purpose.
import { type CertificateUsage, issueCertificate, type KeyPair } from '../../src/crypto/certificates.ts';

export const hourMs = 3_600_000;
/** Good now. */
export const dates: { readonly notBefore: number; readonly notAfter: number } = {
  notBefore: Date.now() - hourMs,
  notAfter: Date.now() + hourMs,
};

export interface Caller {
  readonly name: string;
  readonly groups?: readonly string[];
  /** Default 'client'. */
  readonly usages?: readonly CertificateUsage[];
  /** Default the authority that is asked. */
  readonly issuer?: KeyPair;
  readonly notAfter?: number;
}

/** As TLS options take it. */
export async function certificateOf(
  ca: KeyPair,
  { name, groups = [], usages = ['client'], issuer = ca, notAfter = dates.notAfter }: Caller,
): Promise<{ readonly cert: string; readonly key: string }> {
  const terms = { commonName: name, organizations: groups, usages, ...dates, notAfter };
  const made = await issueCertificate(issuer, terms);
  return { cert: made.certificatePem, key: made.privateKeyPem };
}
