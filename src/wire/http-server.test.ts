// The server's end: what is left of connections when it is closed.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { createCertificateAuthority, issueCertificate } from '../crypto/certificates.ts';
import { createHttpServer } from './http-server.ts';

test('a client that never finishes its handshake does not outlive the server', async () => {
  const times = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 60_000 };
  const authority = await createCertificateAuthority({ commonName: 'test', ...times });
  const pair = await issueCertificate(authority, {
    commonName: 'test',
    ...times,
    usages: ['server'],
    ips: ['127.0.0.1'],
  });
  const server = createHttpServer({
    handler: () => assert.fail('no request was sent'),
    tls: { key: pair.privateKeyPem, cert: pair.certificatePem },
  });
  const { port } = await server.listen(0, '127.0.0.1');
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  // Half of a hello: the server waits for the rest.
  socket.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]));
  const closed = once(socket, 'close');
  socket.resume();
  // Another connection is served: the first one has been accepted.
  const second = connect(port, '127.0.0.1');
  second.on('error', () => {});
  await once(second, 'connect');
  await server.close(0);
  await closed;
});
