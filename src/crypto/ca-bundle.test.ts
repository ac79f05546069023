// Bundles of authorities: one certificate is enough, and what holds none says why.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caBundleFault } from './ca-bundle.ts';
import { createCertificateAuthority } from './certificates.ts';

const { certificatePem } = await createCertificateAuthority({
  commonName: 'ca',
  notBefore: Date.now() - 60_000,
  notAfter: Date.now() + 3_600_000,
});
const none = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const start = 'unable to load root certificates: ';

test('a bundle with one certificate is one, whatever else is in it', () => {
  for (const text of [certificatePem, `ours\n${none}${certificatePem}`])
    assert.equal(caBundleFault(text), undefined);
});

test('a bundle without any says why', () => {
  assert.equal(caBundleFault('unparsable'), `${start}unable to parse bytes as PEM block`);
  assert.equal(caBundleFault(' \n'), `${start}unable to parse bytes as PEM block`);
  assert.equal(caBundleFault(none), `${start}failed to parse certificate: x509: malformed certificate`);
  const key = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n';
  assert.equal(caBundleFault(key), `${start}no valid certificate authority data seen`);
});

test('a bundle of ten thousand that are none is not looked through, nor one that never ends', () => {
  const began = process.cpuUsage();
  const damaged = certificatePem.replace(/.{8}(?=\s*-----END)/, 'AAAAAAAA').replace(/\nMII./, '\nAAAA');
  assert.ok(caBundleFault(damaged.repeat(2_000) + certificatePem) !== undefined);
  assert.ok(caBundleFault('-----BEGIN CERTIFICATE-----\n'.repeat(50_000)) !== undefined);
  const { user } = process.cpuUsage(began);
  assert.ok(user < 1_500_000, `${user} µs`);
});
