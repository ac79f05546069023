// A CA and a serving certificate for localhost, made for one test.
import { createCertificateAuthority, issueCertificate } from '../../crypto/certificates.ts';
import type { ServerTls } from '../../wire/http-server.ts';

const hourMs = 3_600_000;

export interface TestServing extends ServerTls {
  readonly caPem: string;
  /** A client certificate that the server believes. */
  client(
    commonName: string,
    organizations: readonly string[],
  ): Promise<{ readonly cert: string; readonly key: string }>;
}

export async function testServing(now: number = Date.now()): Promise<TestServing> {
  const dates = { notBefore: now - hourMs, notAfter: now + 24 * hourMs };
  const ca = await createCertificateAuthority({ commonName: 'test-ca', ...dates });
  const serving = await issueCertificate(ca, {
    commonName: 'localhost',
    usages: ['server'],
    dnsNames: ['localhost'],
    ips: ['127.0.0.1'],
    ...dates,
  });
  return {
    key: serving.privateKeyPem,
    cert: serving.certificatePem,
    clientCa: ca.certificatePem,
    caPem: ca.certificatePem,
    async client(commonName, organizations) {
      const made = await issueCertificate(ca, { commonName, organizations, usages: ['client'], ...dates });
      return { cert: made.certificatePem, key: made.privateKeyPem };
    },
  };
}
