// How long a certificate is said to be good.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import { createCertificateAuthority } from '../../crypto/certificates.ts';
import { showCertificateTtl } from './certificate-ttl.ts';

test('a certificate is good for the seconds to its end, one that has ended for less than none, and no certificate for ever', async () => {
  const clock = new FakeClock(Date.UTC(2026, 0, 1));
  const { certificatePem } = await createCertificateAuthority({
    commonName: 'x',
    notBefore: clock.now() - 60_000,
    notAfter: clock.now() + 3_600_000,
  });
  const metrics = createMetrics();
  let current: string | undefined;
  showCertificateTtl(metrics, clock, 'server', () => current);
  const shown = async (): Promise<string | undefined> =>
    /^kubelet_certificate_manager_server_ttl_seconds (\S+)$/m.exec((await metrics.text()).text)?.[1];
  assert.equal(await shown(), '+Inf');
  current = certificatePem;
  assert.equal(await shown(), '3600');
  clock.advance(7_200_000);
  assert.equal(await shown(), '-3600');
  current = 'no certificate';
  assert.equal(await shown(), '+Inf');
});
