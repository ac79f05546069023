// A server of the wire on a port of this machine, and clients that say little.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { createCertificateAuthority, issueCertificate } from '../../crypto/certificates.ts';
import { createHttpServer, type HttpServer, type HttpServerOptions } from '../http-server.ts';

export async function listening(
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

export async function silent(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.resume();
  return socket;
}

export const openHttp2 = (port: number): ClientHttp2Session => {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  session.on('error', () => {});
  return session;
};

export async function knownTo(port: number): Promise<Socket> {
  const socket = connectTls({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
  });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  socket.resume();
  return socket;
}
