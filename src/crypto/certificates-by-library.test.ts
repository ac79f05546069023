// What is signed is, byte for byte, what an X.509 library would have signed.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, type KeyObject, webcrypto } from 'node:crypto';
import { test } from 'node:test';
import * as x509 from '@peculiar/x509';
import { createCertificateRequest } from './certificate-requests.ts';
import { createCertificateAuthority, type KeyUse, keyUses, signCertificate } from './certificates.ts';
import { childrenOf, readDer } from './der.ts';
import { subjectOf } from './distinguished-name.ts';
import { generatePrivateKey, privateKeyFromPem } from './keys.ts';
import { pemBlocks, readCertificate } from './read-certificate.ts';

x509.cryptoProvider.set(webcrypto as Crypto);
const dates = { notBefore: Date.UTC(2026, 0, 1, 2, 3, 4), notAfter: Date.UTC(2061, 0, 1) };
const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const rsa = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };

/** All but the signature, which differs each time. */
const saidBy = (bytes: Uint8Array): string => Buffer.from(childrenOf(readDer(bytes))[0]!.raw).toString('hex');
const saidByPem = (pem: string): string => saidBy(pemBlocks(pem, 'CERTIFICATE(?: REQUEST)?')[0]!);

const imported = (key: KeyObject, algorithm: typeof ecdsa | typeof rsa): Promise<webcrypto.CryptoKey> =>
  webcrypto.subtle.importKey(
    'pkcs8',
    new Uint8Array(key.export({ type: 'pkcs8', format: 'der' })),
    algorithm,
    true,
    ['sign'],
  );
const spki = (key: KeyObject): Uint8Array<ArrayBuffer> =>
  new Uint8Array(createPublicKey(key).export({ type: 'spki', format: 'der' }));
const publicKey = (key: KeyObject): Promise<webcrypto.CryptoKey> =>
  webcrypto.subtle.importKey('spki', spki(key), ecdsa, true, ['verify']);

/** The library's texts for names, whose values are all plain here. */
const named = (commonName: string, organizations: readonly string[] = []): x509.Name =>
  new x509.Name([
    ...organizations.map((value) => ({ O: [{ printableString: value }] })),
    { CN: [{ printableString: commonName }] },
  ]);

test('an authority', async () => {
  const made = await createCertificateAuthority({ commonName: 'kubernetes', ...dates });
  const key = await publicKey(made.privateKey);
  const flags = x509.KeyUsageFlags;
  const theirs = await x509.X509CertificateGenerator.create({
    serialNumber: readCertificate(made.certificatePem).serialNumber,
    subject: named('kubernetes'),
    issuer: named('kubernetes'),
    notBefore: new Date(dates.notBefore),
    notAfter: new Date(dates.notAfter),
    signingAlgorithm: ecdsa,
    publicKey: key as CryptoKey,
    signingKey: (await imported(made.privateKey, ecdsa)) as CryptoKey,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(flags.digitalSignature | flags.keyEncipherment | flags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(key as CryptoKey),
      new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: 'kubernetes' }]),
    ],
  });
  assert.equal(saidByPem(made.certificatePem), saidBy(new Uint8Array(theirs.rawData)));
  assert.equal(await theirs.isSelfSigned(), true);
  assert.equal(await new x509.X509Certificate(made.certificatePem).verify(), true);
});

test('a leaf, of keys that may do this and that, with and without names', async () => {
  const ca = await createCertificateAuthority({ commonName: 'kubernetes', ...dates });
  const issuer = new x509.X509Certificate(ca.certificatePem);
  const key = generatePrivateKey();
  const flag = {
    'digital signature': x509.KeyUsageFlags.digitalSignature,
    'key encipherment': x509.KeyUsageFlags.keyEncipherment,
  };
  const names = {
    dnsNames: ['a', '*.b.example'],
    emails: ['a@b'],
    ips: ['10.0.0.1', 'fd00::1'],
    uris: ['spiffe://a/b'],
  };
  const none = { dnsNames: [], emails: [], ips: [], uris: [] };
  const rows: [readonly KeyUse[], typeof names | typeof none][] = [
    [keyUses, names],
    [[], none],
    [['key encipherment'], none],
  ];
  for (const [uses, sans] of rows) {
    const terms = {
      subject: subjectOf('alice', ['dev', 'ops']),
      names: sans,
      keyUses: uses,
      usages: ['client', 'server'] as const,
      ...dates,
    };
    const made = await signCertificate(ca, terms, key);
    const all = [
      ...sans.dnsNames.map((value) => ({ type: 'dns' as const, value })),
      ...sans.emails.map((value) => ({ type: 'email' as const, value })),
      ...sans.ips.map((value) => ({ type: 'ip' as const, value })),
      ...sans.uris.map((value) => ({ type: 'url' as const, value })),
    ];
    const theirs = await x509.X509CertificateGenerator.create({
      serialNumber: readCertificate(made).serialNumber,
      subject: named('alice', ['dev', 'ops']),
      issuer: issuer.subjectName,
      notBefore: new Date(dates.notBefore),
      notAfter: new Date(dates.notAfter),
      signingAlgorithm: ecdsa,
      publicKey: spki(key),
      signingKey: (await imported(ca.privateKey, ecdsa)) as CryptoKey,
      extensions: [
        ...(uses.length === 0
          ? []
          : [
              new x509.KeyUsagesExtension(
                uses.reduce((sum, use) => sum | flag[use], 0),
                true,
              ),
            ]),
        new x509.ExtendedKeyUsageExtension(['1.3.6.1.5.5.7.3.2', '1.3.6.1.5.5.7.3.1']),
        new x509.BasicConstraintsExtension(false, undefined, true),
        await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
        ...(all.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(all)]),
      ],
    });
    assert.equal(saidByPem(made), saidBy(new Uint8Array(theirs.rawData)), uses.join());
    assert.equal(
      await new x509.X509Certificate(made).verify({ publicKey: issuer, signatureOnly: true }),
      true,
    );
  }
});

test('an RSA authority signs with its own algorithm', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const issuer = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: 'CN=kubernetes',
    notBefore: new Date(dates.notBefore),
    notAfter: new Date(dates.notAfter),
    signingAlgorithm: rsa,
    keys: {
      privateKey: (await imported(privateKey, rsa)) as CryptoKey,
      publicKey: (await webcrypto.subtle.importKey('spki', spki(privateKey), rsa, true, [
        'verify',
      ])) as CryptoKey,
    },
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  const ca = { certificatePem: `${issuer.toString('pem')}\n`, privateKey };
  const terms = {
    subject: subjectOf('alice'),
    names: { dnsNames: [], emails: [], ips: [], uris: [] },
    keyUses,
    usages: ['client'] as const,
    ...dates,
  };
  const made = new x509.X509Certificate(await signCertificate(ca, terms, generatePrivateKey()));
  assert.equal(await made.verify({ publicKey: issuer, signatureOnly: true }), true);
  const { privateKey: ed25519 } = generateKeyPairSync('ed25519');
  await assert.rejects(
    signCertificate({ ...ca, privateKey: ed25519 }, terms, generatePrivateKey()),
    /unsupported private key type ed25519/,
  );
});

test('a request', async () => {
  for (const dnsNames of [['b', 'c.example'], []]) {
    const made = await createCertificateRequest({
      commonName: 'system:node:b',
      organizations: ['system:nodes'],
      dnsNames,
    });
    const key = privateKeyFromPem(made.privateKeyPem);
    const theirs = await x509.Pkcs10CertificateRequestGenerator.create({
      name: named('system:node:b', ['system:nodes']),
      keys: {
        publicKey: (await publicKey(key)) as CryptoKey,
        privateKey: (await imported(key, ecdsa)) as CryptoKey,
      },
      signingAlgorithm: ecdsa,
      extensions:
        dnsNames.length === 0
          ? []
          : [new x509.SubjectAlternativeNameExtension(dnsNames.map((value) => ({ type: 'dns', value })))],
    });
    assert.equal(saidByPem(made.requestPem), saidBy(new Uint8Array(theirs.rawData)));
    assert.equal(await new x509.Pkcs10CertificateRequest(made.requestPem).verify(), true);
  }
});
