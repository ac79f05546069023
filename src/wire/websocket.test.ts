// A WebSocket from somebody who means harm: pings without end, frames without mask, messages without bound.
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { after, before, test } from 'node:test';
import type { HttpRequest } from './http-message.ts';
import { type AcceptedWebSocket, acceptWebSocket } from './websocket.ts';

let server: Server;
let accepted: Duplex;
let latest: AcceptedWebSocket | undefined;
before(async () => {
  server = createServer();
  server.on('upgrade', (message, socket, head) => {
    accepted = socket;
    socket.on('error', () => {});
    const request = { method: 'GET', url: '/', headers: message.headers, upgrade: { socket, head } };
    void acceptWebSocket(request as unknown as HttpRequest, ['a']).then((ws) => {
      latest = ws;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
after(() => server.close());

async function open(): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(
    'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: b, a\r\n\r\n',
  );
  const head = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
  assert.match(String(head), /^HTTP\/1.1 101 [\s\S]*Sec-WebSocket-Protocol: a\r\n/);
  return socket;
}
const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.on('close', () => resolve());
    socket.resume();
  });

test('pings that nobody reads the answers of pile up nowhere', async () => {
  const socket = await open();
  socket.pause();
  const ping = Buffer.concat([Buffer.from([0x89, 0x80 | 125, 0, 0, 0, 0]), Buffer.alloc(125)]);
  const flood = Buffer.concat(Array.from({ length: 5000 }, () => ping));
  for (let i = 0; i < 40; i++) await new Promise<void>((resolve) => socket.write(flood, () => resolve()));
  assert.ok(accepted.writableLength < 256 * 1024, String(accepted.writableLength));
  socket.destroy();
});

test('a hundred who wait for a slow client listen once, and all go on when it has read', async () => {
  latest = undefined;
  const socket = await open();
  socket.pause();
  const ws = latest as unknown as AcceptedWebSocket;
  const before = accepted.listenerCount('drain');
  while (!accepted.writableNeedDrain) ws.send(Buffer.alloc(1 << 20));
  const waiting = Promise.all(Array.from({ length: 100 }, () => ws.drained()));
  assert.equal(accepted.listenerCount('drain'), before + 1);
  socket.resume();
  await waiting;
  assert.equal(accepted.listenerCount('drain'), before);
  socket.destroy();
});

test('frames that are not masked, too long or unknown end the connection', async () => {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(2n ** 63n - 1n);
  for (const frame of [
    Buffer.from([0x82, 1, 0]),
    Buffer.concat([Buffer.from([0x82, 0xff]), length, Buffer.alloc(4)]),
    Buffer.concat([Buffer.from([0x82, 0xff]), Buffer.alloc(8, 0xff), Buffer.alloc(4)]),
    Buffer.from([0xf2, 0x80, 0, 0, 0, 0]),
    Buffer.from([0x8f, 0x80, 0, 0, 0, 0]),
    Buffer.from([0x09, 0x80, 0, 0, 0, 0]),
  ]) {
    const socket = await open();
    const over = closed(socket);
    socket.write(frame);
    await over;
  }
});

test('thousands of tiny messages are handed over one a round of the event loop', async () => {
  const socket = await open();
  const count = 500;
  const frame = Buffer.from([0x82, 0x81, 0, 0, 0, 0, 7]);
  let most = 0;
  let inRound = 0;
  let seen = 0;
  const over = new Promise<void>((resolve) => {
    latest!.onMessage = () => {
      most = Math.max(most, ++inRound);
      if (++seen === count) resolve();
    };
  });
  let going = true;
  const round = (): void => {
    inRound = 0;
    if (going) setImmediate(round);
  };
  round();
  socket.write(Buffer.concat(Array.from({ length: count }, () => frame)));
  await over;
  going = false;
  assert.ok(most <= 2, `${most} messages in one round`);
  socket.destroy();
});
