// A client that left behind full buffers of TLS: whoever passes its session on lets go of both sides.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { createCertificateAuthority, issueCertificate } from '../crypto/certificates.ts';
import { createHttpServer, type HttpServer } from './http-server.ts';
import { SessionClients } from './session-clients.ts';
import { SpdyConnection } from './spdy.ts';
import { passUpgradeThrough } from './upgrade-passthrough.ts';
import { acceptWebSocket } from './websocket.ts';

/** More than all buffers between a client and one that reads nothing. */
const flood = Buffer.alloc(64_000_000);
const clients = new SessionClients(5);

let server: HttpServer;
let port: number;
let ca: string;
/** Reads nothing. */
let runtime: Server;
const behind: Socket[] = [];
let sessions = 0;
let ended = 0;

before(async () => {
  runtime = createServer();
  runtime.on('upgrade', (request, socket: Socket) => {
    behind.push(socket);
    socket.on('error', () => undefined);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\n`,
    );
  });
  runtime.listen(0, '127.0.0.1');
  await once(runtime, 'listening');
  const target = `http://127.0.0.1:${(runtime.address() as AddressInfo).port}/`;
  const now = Date.now();
  const dates = { notBefore: now - 3_600_000, notAfter: now + 3_600_000 };
  const authority = await createCertificateAuthority({ commonName: 'test-ca', ...dates });
  ca = authority.certificatePem;
  const serving = await issueCertificate(authority, {
    commonName: 'localhost',
    usages: ['server'],
    dnsNames: ['localhost'],
    ...dates,
  });
  server = createHttpServer({
    tls: { key: serving.privateKeyPem, cert: serving.certificatePem },
    handler: async (request) => {
      sessions++;
      request.upgrade?.socket.once('close', () => ended++);
      if (request.url === '/passed') return passUpgradeThrough(request, target, () => false, clients);
      const ws = await acceptWebSocket(request, ['a'], clients);
      ws?.pause();
      return { status: 101, headers: {}, body: undefined, hijacked: true };
    },
  });
  ({ port } = await server.listen(0, '127.0.0.1'));
});
after(async () => {
  runtime.closeAllConnections();
  for (const socket of behind) socket.destroy();
  runtime.close();
  await server.close();
});

const webSocketTo = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: a\r\n\r\n`;
const upgrades = {
  SPDY: 'POST /passed HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n',
  WebSocket: webSocketTo('/'),
  'passed WebSocket': webSocketTo('/passed'),
} as const;

async function opened(kind: keyof typeof upgrades): Promise<TLSSocket> {
  const client = connect({ port, host: '127.0.0.1', servername: 'localhost', ca });
  client.on('error', () => undefined);
  client.write(upgrades[kind]);
  const [head] = (await once(client, 'data')) as [Buffer];
  assert.match(head.toString(), /^HTTP\/1.1 101 /);
  return client;
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
/** Returns when nothing of what waits goes anywhere any more. */
async function sendUnread(client: TLSSocket): Promise<void> {
  client.write(flood);
  let written = -1;
  while (written !== client.bytesWritten) {
    written = client.bytesWritten;
    for (let i = 0; i < 100; i++) await turn();
  }
  assert.ok(client.writableLength > 0, 'all of it went out');
}

for (const kind of ['SPDY', 'WebSocket', 'passed WebSocket'] as const)
  test(`a session over ${kind} ends whose client closed behind full buffers`, async () => {
    const client = await opened(kind);
    await sendUnread(client);
    assert.equal(ended, sessions - 1);
    client.destroy();
    while (ended < sessions) await turn();
  });

test('what a client is sent lies between frames of its session, and is nothing to it', async () => {
  const client = await opened('SPDY');
  const socket = behind.at(-1)!;
  const got: Buffer[] = [];
  let bytes = 0;
  const spdy = new SpdyConnection(client, Buffer.alloc(0));
  client.on('data', (data: Buffer) => {
    bytes += data.length;
  });
  const reply = Buffer.from([0x80, 3, 0, 2, 0, 0, 0, 4, 0, 0, 0, 1]);
  const stream = spdy.createStream(
    { streamType: 'stdout' },
    { onData: (data) => void got.push(data), onEnd: () => undefined },
  );
  socket.write(reply);
  await stream;
  await sendUnread(client);
  const text = Buffer.from('one frame in two pieces');
  const head = Buffer.from([0, 0, 0, 1, 0, 0, 0, text.length]);
  // Nudged, as it waits.
  for (const before = bytes; bytes < before + 12 * 3; ) await turn();
  socket.write(Buffer.concat([head, text.subarray(0, 5)]));
  while (Buffer.concat(got).length < 5) await turn();
  // Within a frame nothing comes.
  const other = await opened('WebSocket');
  await sendUnread(other);
  const within = bytes;
  other.destroy();
  while (ended < sessions - 1) await turn();
  assert.equal(bytes, within);
  socket.write(text.subarray(5));
  for (const before = bytes + text.length - 5; bytes < before + 12 * 3; ) await turn();
  assert.equal(Buffer.concat(got).toString(), text.toString());
  assert.equal(spdy.closed, false);
  spdy.close();
  while (ended < sessions) await turn();
});
