// The PKI is made once, kept, and renewed only where it must be.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { certificateFacts, isIssuedBy } from '../crypto/subject.ts';
import { openPki, type PkiFiles } from './pki.ts';

const day = 24 * 3600 * 1000;
const start = Date.UTC(2026, 0, 1);
const memory = (): PkiFiles & { readonly files: Map<string, string> } => {
  const files = new Map<string, string>();
  return { files, read: (name) => files.get(name), write: (name, text) => void files.set(name, text) };
};
const at = (ms: number): { now(): number } => ({ now: () => ms });
const names = { dnsNames: ['localhost'], ips: ['127.0.0.1'] };

test('a second start finds everything as it was', async () => {
  const files = memory();
  const first = await openPki(files, at(start));
  const serving = await first.serving(names);
  const admin = await first.admin();
  const before = new Map(files.files);
  const second = await openPki(files, at(start + 30 * day));
  assert.deepEqual(await second.serving(names), serving);
  assert.deepEqual(await second.admin(), admin);
  assert.deepEqual(files.files, before);
});

test('new names, and certificates that are about to end, are served by new certificates of the same authority', async () => {
  const files = memory();
  const first = await openPki(files, at(start));
  const old = await first.serving(names);
  const more = await first.serving({ ...names, ips: ['127.0.0.1', '10.0.0.9'] });
  assert.notEqual(more.certificatePem, old.certificatePem);
  assert.ok(certificateFacts(more.certificatePem).names.ips.includes('10.0.0.9'));
  const late = await openPki(files, at(start + 340 * day));
  const renewed = await late.serving(names);
  assert.notEqual(renewed.certificatePem, more.certificatePem);
  assert.equal(late.caCertificatePem, first.caCertificatePem);
  assert.equal(isIssuedBy(renewed.certificatePem, late.caCertificatePem), true);
});

test('a damaged certificate is replaced; an authority without its key is an error', async () => {
  const files = memory();
  await (await openPki(files, at(start))).serving(names);
  files.write('apiserver.crt', 'nonsense');
  const mended = await (await openPki(files, at(start))).serving(names);
  assert.match(mended.certificatePem, /BEGIN CERTIFICATE/);
  files.files.delete('ca.key');
  await assert.rejects(openPki(files, at(start)), /pki\/ca.key is missing/);
});

test('a node gets its own name, and what kube-proxy reads by another user', async () => {
  const pki = await openPki(memory(), at(start));
  const node = await pki.issueNodeCredentials('linux-1', { dnsNames: ['linux-1'], ips: ['10.0.0.2'] });
  assert.deepEqual(certificateFacts(node.kubelet.certificatePem).subject, {
    CN: 'system:node:linux-1',
    O: ['system:nodes'],
  });
  assert.deepEqual(certificateFacts(node.kubeProxy.certificatePem).subject.CN, 'system:kube-proxy');
  assert.deepEqual(certificateFacts(node.kubeletServing.certificatePem).names, {
    dnsNames: ['linux-1'],
    ips: ['10.0.0.2'],
    emails: [],
    uris: [],
  });
});

test('R13: a key file in which one bit is another is refused, also where it can still be read', async () => {
  const files = memory();
  await openPki(files, at(start));
  for (const name of ['sa.key', 'ca.key', 'kubelet-serving-ca.key', 'front-proxy-ca.key']) {
    const whole = files.read(name)!;
    const body = whole.indexOf('\n') + 1;
    // base64 of PKCS#8 of P-256: the private number lies at bytes 36 to 67
    const character = whole[body + 56] === 'A' ? 'B' : 'A';
    files.write(name, `${whole.slice(0, body + 56)}${character}${whole.slice(body + 57)}`);
    await assert.rejects(openPki(files, at(start)), new RegExp(`pki/${name} is damaged`));
    files.write(name, whole);
  }
  await openPki(files, at(start));
});
