// Certificates and requests are made, read and checked against node's own X.509 reader.
import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import {
  createCertificateRequest,
  parseCertificateRequest,
  signCertificateRequest,
} from './certificate-requests.ts';
import {
  CertificateMismatchError,
  checkSigned,
  createCertificateAuthority,
  issueCertificate,
  keyUses,
  signCertificate,
} from './certificates.ts';
import { subjectOf } from './distinguished-name.ts';
import { generatePrivateKey } from './keys.ts';
import { readCertificate } from './read-certificate.ts';
import { certificateFacts, isIssuedBy } from './subject.ts';

const dates = { notBefore: Date.UTC(2026, 0, 1), notAfter: Date.UTC(2036, 0, 1) };
const ca = await createCertificateAuthority({ commonName: 'kubernetes', ...dates });

test('a client certificate carries its user as CN and its groups as O', async () => {
  const pair = await issueCertificate(ca, {
    commonName: 'system:node:a',
    organizations: ['system:nodes', 'second'],
    usages: ['client'],
    ...dates,
  });
  const facts = certificateFacts(pair.certificatePem);
  assert.deepEqual(facts.subject, { CN: 'system:node:a', O: ['system:nodes', 'second'] });
  assert.equal(facts.notAfter, dates.notAfter);
  assert.equal(isIssuedBy(pair.certificatePem, ca.certificatePem), true);
  const x509 = new X509Certificate(pair.certificatePem);
  assert.equal(x509.checkPrivateKey(createPrivateKey(pair.privateKeyPem)), true);
  assert.deepEqual(x509.keyUsage, ['1.3.6.1.5.5.7.3.2']);
  assert.equal(x509.ca, false);
});

test('a serving certificate answers to its names and addresses', async () => {
  const pair = await issueCertificate(ca, {
    commonName: 'kube-apiserver',
    usages: ['server'],
    dnsNames: ['kubernetes', 'localhost'],
    ips: ['127.0.0.1', 'fd00::1'],
    ...dates,
  });
  const x509 = new X509Certificate(pair.certificatePem);
  assert.equal(x509.checkHost('kubernetes'), 'kubernetes');
  assert.equal(x509.checkIP('127.0.0.1'), '127.0.0.1');
  assert.equal(x509.checkHost('elsewhere'), undefined);
  assert.deepEqual(certificateFacts(pair.certificatePem).names.ips, ['127.0.0.1', 'fd00::1']);
});

test('a certificate of another authority of the same name is told apart', async () => {
  const other = await createCertificateAuthority({ commonName: 'kubernetes', ...dates });
  const pair = await issueCertificate(other, { commonName: 'x', usages: ['client'], ...dates });
  assert.equal(isIssuedBy(pair.certificatePem, ca.certificatePem), false);
});

test('a certificate whose signature is not the one of its authority is told apart', async () => {
  const { certificatePem } = await issueCertificate(ca, { commonName: 'x', usages: ['client'], ...dates });
  const der = Buffer.from(new X509Certificate(certificatePem).raw);
  assert.equal(isIssuedBy(der, ca.certificatePem), true);
  der[der.length - 1] = der[der.length - 1]! ^ 1;
  assert.equal(isIssuedBy(der, ca.certificatePem), false);
});

test('what was signed is compared with what was approved, fact by fact', async () => {
  const key = createPublicKey(generatePrivateKey());
  const names = { dnsNames: ['a'], ips: ['10.0.0.1'], emails: ['a@b.example'], uris: ['spiffe://a/b'] };
  const subject = subjectOf('alice', ['dev', 'ops']);
  const terms = { subject, names, keyUses, usages: ['client'] as const, ...dates };
  const pem = await signCertificate(ca, terms, key);
  const differs = (
    more: Partial<typeof terms> | { usages: readonly 'server'[] },
    authority = ca,
    of = key,
  ): string => {
    try {
      checkSigned(pem, authority, { ...terms, ...more }, of);
      return '';
    } catch (error) {
      assert.ok(error instanceof CertificateMismatchError);
      return error.message.replace('the signed certificate differs from what was approved: ', '');
    }
  };
  assert.equal(differs({}), '');
  for (const other of [
    subjectOf('bob', ['dev', 'ops']),
    subjectOf('alice', ['ops', 'dev']),
    subjectOf('alice', ['dev']),
    [...subject, { type: '2.5.4.5', value: '1' }],
    subject.slice(0, -1),
    subject.map((part, i) => (i === 0 ? { ...part, type: '2.5.4.11' } : part)),
  ])
    assert.equal(differs({ subject: other }), 'subject', JSON.stringify(other));
  for (const other of [
    { dnsNames: ['b'] },
    { dnsNames: ['a', 'b'] },
    { dnsNames: [] },
    { ips: ['10.0.0.2'] },
    { emails: ['c@b.example'] },
    { uris: ['spiffe://a/c'] },
  ])
    assert.equal(
      differs({ names: { ...names, ...other } }),
      'subject alternative names',
      JSON.stringify(other),
    );
  assert.equal(differs({ keyUses: ['digital signature'] }), 'key usages');
  assert.equal(differs({ usages: ['server'] }), 'usages');
  assert.equal(differs({ notBefore: dates.notBefore - 1000 }), 'lifetime');
  assert.equal(differs({ notAfter: dates.notAfter + 1000 }), 'lifetime');
  assert.equal(differs({}, ca, createPublicKey(generatePrivateKey())), 'public key');
  for (const commonName of ['kubernetes', 'other'])
    assert.equal(differs({}, await createCertificateAuthority({ commonName, ...dates })), 'issuer');
  assert.throws(() => checkSigned(ca.certificatePem, ca, terms, key), /basic constraints/);
});

test('a signing request goes round: made, parsed, signed', async () => {
  const made = await createCertificateRequest({
    commonName: 'system:node:b',
    organizations: ['system:nodes'],
    dnsNames: ['b'],
    ips: ['10.0.0.2'],
  });
  const request = await parseCertificateRequest(made.requestPem);
  assert.deepEqual(
    [request.commonName, request.organizations, request.dnsNames, request.ips, request.emails],
    ['system:node:b', ['system:nodes'], ['b'], ['10.0.0.2'], []],
  );
  const pem = await signCertificateRequest(ca, request, { keyUses, usages: ['server'], ...dates });
  assert.equal(new X509Certificate(pem).checkPrivateKey(createPrivateKey(made.privateKeyPem)), true);
});

test('a key may do what was asked for, and no more', async () => {
  const made = await createCertificateRequest({ commonName: 'a' });
  const request = await parseCertificateRequest(made.requestPem);
  for (const [uses, bits] of [
    [[], undefined],
    [['digital signature'], 0b1000_0000],
    [['key encipherment'], 0b0010_0000],
    [['digital signature', 'key encipherment'], 0b1010_0000],
  ] as const) {
    const pem = await signCertificateRequest(ca, request, { keyUses: uses, usages: ['client'], ...dates });
    assert.equal(readCertificate(pem).keyUsage, bits, uses.join());
  }
});

test('what is no signing request is refused', async () => {
  await assert.rejects(parseCertificateRequest('hello'), /PEM block type must be CERTIFICATE REQUEST/);
  await assert.rejects(parseCertificateRequest(ca.certificatePem), /PEM block type/);
  await assert.rejects(
    parseCertificateRequest('-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n'),
  );
});

test('the certificates of a whole cluster are made quickly', async () => {
  const started = performance.now();
  for (let i = 0; i < 8; i++) {
    await issueCertificate(ca, { commonName: `c${i}`, usages: ['client'], ...dates });
  }
  // Measured at 2 ms each; the bound only catches a change of kind, such as RSA keys.
  assert.ok(performance.now() - started < 2000);
});
