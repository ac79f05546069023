// The server's end: what is left of connections when it is closed.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { createCertificateAuthority, issueCertificate } from '../crypto/certificates.ts';
import { createHttpServer, type HttpServer, type HttpServerOptions } from './http-server.ts';

async function listening(
  options: Partial<HttpServerOptions> = {},
): Promise<{ readonly server: HttpServer; readonly port: number }> {
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
    ...options,
  });
  return { server, port: (await server.listen(0, '127.0.0.1')).port };
}

async function silent(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.resume();
  return socket;
}

test('a client that never finishes its handshake does not outlive the server', async () => {
  const { server, port } = await listening();
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

test('a client that never begins its handshake is let go', async () => {
  const { server, port } = await listening({ handshakeTimeoutMs: 50 });
  await once(await silent(port), 'close');
  await server.close(0);
});

test('of the handshakes of one address under way the oldest is let go beyond 256, others are served', async () => {
  const { server, port } = await listening();
  const first = await silent(port);
  const gone = once(first, 'close');
  const rest = [];
  for (let i = 1; i < 256; i++) rest.push(await silent(port));
  // One that knows what it wants is served all the same, and pushes the oldest out.
  const known = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(known, 'secureConnect');
  await gone;
  assert.deepEqual(
    rest.filter((socket) => socket.destroyed),
    [],
  );
  known.destroy();
  for (const socket of rest) socket.destroy();
  await server.close(0);
});
