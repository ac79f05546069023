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

test('certificates that were made while the clock was ahead are made anew once it is right again', async () => {
  const files = memory();
  await (await openPki(files, at(start))).serving(names);
  const ahead = await openPki(files, at(start + 400 * day));
  const [early, admin] = [await ahead.serving(names), await ahead.admin()];
  assert.ok(certificateFacts(early.certificatePem).notBefore > start + 399 * day);
  const back = await openPki(files, at(start + day));
  for (const [now, before] of [
    [await back.serving(names), early],
    [await back.admin(), admin],
  ] as const) {
    assert.notEqual(now.certificatePem, before.certificatePem);
    const { notBefore, notAfter } = certificateFacts(now.certificatePem);
    assert.ok(notBefore <= start + day && notAfter > start + 300 * day);
  }
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
  assert.deepEqual(
    certificateFacts((await pki.issueKubeProxy()).certificatePem).subject.CN,
    'system:kube-proxy',
  );
  assert.deepEqual(certificateFacts(node.kubeletServing.certificatePem).names, {
    dnsNames: ['linux-1'],
    ips: ['10.0.0.2'],
    emails: [],
    uris: [],
  });
});

test('a key file in which one bit is another is refused, also where it can still be read', async () => {
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

const authorities = ['ca', 'kubelet-serving-ca', 'front-proxy-ca'];

test('an authority of which one bit is another is refused, in its signature too', async (t) => {
  const files = memory();
  await openPki(files, at(start));
  let strikes = 0;
  for (const name of authorities.map((one) => `${one}.crt`)) {
    const whole = files.read(name)!;
    const body = whole.indexOf('\n') + 1;
    const end = whole.indexOf('-----END');
    for (let i = body; i < end; i += 5) {
      // The last letters of base64 may mean nothing.
      if (!/[A-Za-z0-9+/]/.test(whole[i]!) || i > end - 6) continue;
      const other = whole[i] === 'A' ? 'B' : 'A';
      files.write(name, `${whole.slice(0, i)}${other}${whole.slice(i + 1)}`);
      await assert.rejects(
        openPki(files, at(start)),
        /^Error: pki\/.*(is damaged|belongs to no certificate)/,
        `${name} at ${i}`,
      );
      strikes++;
    }
    files.write(name, whole);
  }
  t.diagnostic(`${strikes} strikes`);
  assert.ok(strikes > 300);
  await openPki(files, at(start));
});

test('a bundle may hold authorities that sign themselves and those of another one in it, not strangers', async () => {
  const files = memory();
  await openPki(files, at(start));
  const others = memory();
  await openPki(others, at(start));
  const [own, other] = [files.read('ca.crt')!, others.read('ca.crt')!];
  files.write('ca.crt', own + other);
  assert.equal((await openPki(files, at(start))).caCertificatePem, own + other);
  const stranger = await (await openPki(others, at(start))).admin();
  files.write('ca.crt', own + stranger.certificatePem);
  await assert.rejects(
    openPki(files, at(start)),
    /pki\/ca.crt is damaged \(nobody in it signed what it says\)/,
  );
});

test('sa.pub is the other half of sa.key, or the start is refused; it is made from that when it is missing', async () => {
  const files = memory();
  await openPki(files, at(start));
  const whole = files.read('sa.pub')!;
  const others = memory();
  await openPki(others, at(start));
  for (const wrong of [
    others.read('sa.pub')!,
    'garbage',
    whole.replace(/.{20}\n-----END/, 'AAAAAAAAAAAAAAAAAAA=\n-----END'),
  ]) {
    files.write('sa.pub', wrong);
    await assert.rejects(openPki(files, at(start)), /pki\/sa.pub does not belong to pki\/sa.key: put back/);
  }
  // Two keys, as while one follows the other.
  files.write('sa.pub', others.read('sa.pub')! + whole);
  await openPki(files, at(start));
  files.files.delete('sa.pub');
  await openPki(files, at(start));
  assert.equal(files.read('sa.pub'), whole);
});
