// Whatever HTTP/1 clients send, in whatever pieces, however it is answered: each connection ends, and the next one is served.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import type { HttpRequest, HttpResponse, PullBody } from './http-message.ts';
import { createHttpServer } from './http-server.ts';

/** Always the same numbers. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fff_ffff;
    return (state >>> 8) % below;
  };
}

const upgrade = 'Host: a\r\nConnection: upgrade\r\nUpgrade: x\r\n';
const parts = [
  'GET /a HTTP/1.1\r\nHost: a\r\n\r\n',
  'GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
  'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n',
  'POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello',
  'POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n',
  '5\r\nhello\r\n',
  '0\r\n\r\n',
  '0\r\nT: 1\r\n\r\n',
  'zz\r\n',
  'POST /d HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n',
  'abc',
  `GET /u HTTP/1.1\r\n${upgrade}\r\n`,
  `POST /u HTTP/1.1\r\n${upgrade}Content-Length: 3\r\n\r\nxyz`,
  `POST /u HTTP/1.1\r\n${upgrade}Transfer-Encoding: chunked\r\n\r\n`,
  'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
  '\r\n\r\n',
  `GET / HTTP/1.1\r\n${'X: y\r\n'.repeat(50)}Host: a\r\n\r\n`,
  'nonsense',
  `PUT /e HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n${'x'.repeat(150_000)}`,
  'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
];

function handlerBy(next: (below: number) => number): (request: HttpRequest) => Promise<HttpResponse> {
  const pull = (): PullBody => {
    const pieces = [Buffer.from('ab'), Buffer.alloc(1 + next(100_000)), null];
    return { pull: () => pieces.shift(), onReady: () => {}, close: () => {} };
  };
  return async (request) => {
    const way = next(8);
    if (request.upgrade && way < 4) {
      request.upgrade.socket.end('other');
      return { status: 101, headers: {}, body: undefined, hijacked: true };
    }
    if (way & 1) await request.readBody(1 << (4 + next(16))).catch(() => {});
    if (way & 2) await new Promise((resolve) => setImmediate(resolve));
    if (way === 7) throw new Error('a handler that fails');
    const headers = next(20) === 0 ? { a: 'b\r\nc: d' } : { 'content-type': 'x' };
    const body = next(3) === 0 ? pull() : Buffer.alloc(next(300_000));
    return { status: [200, 204, 304, 404, 500][next(5)]!, headers, body };
  };
}

async function send(port: number, next: (below: number) => number): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => {});
  socket.on('data', () => {});
  socket.once('end', () => socket.destroy());
  const bytes = Buffer.from(Array.from({ length: 1 + next(8) }, () => parts[next(parts.length)]!).join(''));
  const size = [3, 17, 1_000, 1 << 20][next(4)]!;
  for (let at = 0; at < bytes.length && !socket.destroyed; ) {
    const piece = at > 3_000 ? bytes.length : size;
    socket.write(bytes.subarray(at, at + piece));
    at += piece;
    if (next(4) === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  if (next(3) === 0) socket.destroy();
  else socket.end();
  await closed;
}

test('two thousand connections of anything end, and a request after them is answered', {
  timeout: 60_000,
}, async () => {
  const next = numbers(20_260_301);
  let isOver = false;
  const any = handlerBy(next);
  const server = createHttpServer({
    tls: undefined,
    handler: async (request) =>
      isOver ? { status: 200, headers: {}, body: Buffer.from('well.') } : any(request),
  });
  const { port } = await server.listen(0, '127.0.0.1');
  let left = 2_000;
  const client = async (): Promise<void> => {
    while (left-- > 0) await send(port, next);
  };
  await Promise.all(Array.from({ length: 8 }, client));
  isOver = true;
  const socket = connect(port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  let text = '';
  socket.on('data', (bytes) => (text += bytes));
  await once(socket, 'close');
  assert.match(text, /^HTTP\/1.1 200 OK\r\n.*well\.$/s);
  await server.close(0);
});
