// Which certificate a client is served, by the name that it asks for.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { createCertificateAuthority, issueCertificate } from '../crypto/certificates.ts';
import { createHttpServer } from './http-server.ts';
import type { NamedCertificate } from './named-certificates.ts';
import { NamedCertificates } from './named-certificates.ts';

const dates = { notBefore: 0, notAfter: Date.now() + 3_600_000 };
const ca = await createCertificateAuthority({ commonName: 'authority', ...dates });

async function certificate(
  commonName: string,
  dnsNames: readonly string[],
  names: readonly string[] = [],
): Promise<NamedCertificate> {
  const made = await issueCertificate(ca, { commonName, dnsNames, usages: ['server'], ...dates });
  return { cert: made.certificatePem, key: made.privateKeyPem, names };
}

test('names that are given go before those of certificates, whole ones before patterns, earlier ones before later', async () => {
  const usual = await certificate('kube-apiserver', ['kubernetes']);
  const found = await certificate('www.example.com', ['api.example.com', '*.example.org']);
  const given = await certificate('given', ['given.example.net'], ['api.example.com', '*.example.com']);
  const later = await certificate('later', [], ['*.example.com', '10.0.0.1']);
  const chosen = new NamedCertificates(usual.cert, [found, given, later]);
  const rows: [string, NamedCertificate | undefined][] = [
    ['API.example.com', given],
    ['www.example.com', found],
    ['other.example.com.', given],
    ['x.example.org', found],
    ['x.y.example.org', undefined],
    // Nobody named it, but it is what that certificate is for.
    ['given.example.net', given],
    ['kubernetes', undefined],
    ['localhost', undefined],
  ];
  for (const [name, one] of rows) assert.equal(chosen.ofName(name), one, name);
  assert.equal(chosen.ofAddress('::ffff:10.0.0.1'), later);
  assert.equal(chosen.ofAddress('10.0.0.2'), undefined);
});

test('a server shows each client the certificate of the name that it asks for, or of the address that it came to', async (t) => {
  const usual = await certificate('usual', []);
  const named = await certificate('named', ['api.example.com']);
  const local = await certificate('local', [], ['127.0.0.2']);
  const client = await issueCertificate(ca, { commonName: 'jane', usages: ['client'], ...dates });
  const tls = { ...usual, clientCa: ca.certificatePem, named: [named, local] };
  const server = createHttpServer({
    tls,
    handler: async ({ clientCertificate }) => ({
      status: 200,
      headers: {},
      body: Buffer.from(clientCertificate?.subject.CN ?? 'nobody'),
    }),
  });
  t.after(() => server.close(0));
  const { port } = await server.listen(0, '127.0.0.1');
  await server.listen(port, '127.0.0.2');
  const shown = async (host: string, servername?: string, session?: Buffer) => {
    const socket = connect({
      host,
      port,
      ca: ca.certificatePem,
      cert: client.certificatePem,
      key: client.privateKeyPem,
      checkServerIdentity: () => undefined,
      ...(servername === undefined ? {} : { servername }),
      ...(session === undefined ? {} : { session }),
    });
    let next: Buffer | undefined;
    socket.on('session', (one) => {
      next = one;
    });
    await once(socket, 'secureConnect');
    const who = socket.isSessionReused() ? 'as before' : socket.getPeerCertificate().subject.CN;
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    let text = '';
    for await (const data of socket) text += data;
    assert.match(text, /\r\n\r\njane$/);
    return { who, session: next };
  };
  assert.equal((await shown('127.0.0.1')).who, 'usual');
  const first = await shown('127.0.0.1', 'api.example.com');
  assert.deepEqual([first.who, (await shown('127.0.0.2')).who], ['named', 'local']);
  assert.equal((await shown('127.0.0.2', 'other.example.com')).who, 'usual');
  assert.equal((await shown('127.0.0.1', 'api.example.com', first.session)).who, 'as before');
  const renewed = await certificate('renewed', ['api.example.com']);
  server.setTls({ ...tls, named: [renewed, local] });
  assert.equal((await shown('127.0.0.1', 'api.example.com')).who, 'renewed');
});
