// Connections that are open: which requests pass others, which connections are let go, and what goes with them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientHttp2Session } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import type { PullBody } from './http-message.ts';
import { createHttpServer } from './http-server.ts';
import { knownTo, listening, openHttp2 } from './testing/listening-server.ts';
import { TurnedSocket } from './turned-socket.ts';

test('two hundred requests of one connection let that of another pass', async () => {
  const order: string[] = [];
  const waited: (boolean | undefined)[] = [];
  const { server, port } = await listening({
    handler: async (request) => {
      order.push(request.url);
      waited.push(request.waited);
      // What is done at once takes its time.
      const until = performance.now() + 1;
      while (performance.now() < until);
      return { status: 200, headers: {}, body: Buffer.from('x') };
    },
  });
  const [tenant, other] = [openHttp2(port), openHttp2(port)];
  const ask = async (session: ClientHttp2Session, path: string): Promise<void> => {
    await once(session.request({ ':path': path }).resume(), 'end');
  };
  await Promise.all([ask(tenant, '/first'), ask(other, '/first')]);
  const flood = Array.from({ length: 200 }, () => ask(tenant, '/flood'));
  await ask(other, '/other');
  await Promise.all(flood);
  assert.equal(order.length, 203);
  assert.ok(order.indexOf('/other') < 150, `after ${order.indexOf('/other')}`);
  // Those that waited for a turn are told apart: they wait for their user's as well.
  while (waited.at(-1) !== false) await ask(other, '/alone');
  assert.ok(waited.filter((one) => one === true).length > 150);
  tenant.destroy();
  other.destroy();
  await server.close(0);
});

test('the first request in bytes that had to wait for their turn does not wait for one again', async (t) => {
  const took = t.mock.method(TurnedSocket.prototype, 'takeTurn');
  const { server, port } = await listening({
    handler: async () => {
      const until = performance.now() + 1;
      while (performance.now() < until);
      return { status: 200, headers: {}, body: Buffer.from('x') };
    },
  });
  const sessions = Array.from({ length: 10 }, () => openHttp2(port));
  const ask = async (session: ClientHttp2Session): Promise<void> => {
    await once(session.request({ ':path': '/' }).resume(), 'end');
  };
  const had = (): number => took.mock.calls.filter(({ result }) => result === true).length;
  while (had() === 0) await Promise.all(sessions.map(ask));
  for (const session of sessions) session.destroy();
  await server.close(0);
});

test('a connection on which twenty large answers wait to be read is still served', async () => {
  const { server, port } = await listening({
    handler: async () => ({ status: 200, headers: {}, body: Buffer.alloc(900_000) }),
  });
  const session = openHttp2(port);
  const waiting = Array.from({ length: 20 }, () => session.request({ ':path': '/' }));
  await Promise.all(waiting.map((stream) => once(stream, 'response')));
  const [headers] = await once(session.request({ ':path': '/' }), 'response');
  assert.equal(headers[':status'], 200);
  session.destroy();
  await server.close(0);
});

test('beyond what may be open the oldest connection of the largest crowd goes, a new one is served', async () => {
  const { server, port } = await listening({
    mostConnections: 20,
    handler: async ({ remoteAddress }) => ({ status: 200, headers: {}, body: Buffer.from(remoteAddress) }),
  });
  const crowd: Socket[] = [];
  for (let i = 0; i < 20; i++) crowd.push(await knownTo(port));
  const closed = new Promise((resolve) => crowd[0]!.once('close', resolve));
  const next = await knownTo(port);
  await closed;
  assert.deepEqual(
    crowd.map(({ destroyed }) => destroyed),
    crowd.map((_, i) => i === 0),
  );
  next.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const [answer] = (await once(next, 'data')) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1\.1 200 OK.*127\.0\.0\.1$/s);
  for (const socket of [...crowd, next]) socket.destroy();
  await server.close(0);
});

/** A frame of HTTP/2. */
function frame(type: number, flags: number, stream: number, body: readonly number[]): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, Buffer.from(body)]);
}

test('an HTTP/2 connection without streams whose client takes nothing at all is let go', async () => {
  const asked = Promise.withResolvers<void>();
  const { server, port } = await listening({
    idleMs: 40,
    handler: async () => {
      setImmediate(asked.resolve);
      return { status: 200, headers: {}, body: Buffer.alloc(16 << 20) };
    },
  });
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  const [headers, reset, settings, windowUpdate] = [1, 3, 4, 8] as const;
  const widest = [0x7f, 255, 255, 255];
  socket.write(
    Buffer.concat([
      Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
      frame(settings, 0, 0, [0, 4, ...widest]),
      frame(windowUpdate, 0, 0, [0x7f, 0, 0, 0]),
      // GET https://a/
      frame(headers, 5, 1, [0x82, 0x87, 0x84, 0x41, 1, 'a'.charCodeAt(0)]),
    ]),
  );
  await asked.promise;
  const sockets = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  const both = sockets();
  socket.write(frame(reset, 0, 1, [0, 0, 0, 8]));
  while (sockets() >= both) await new Promise((resolve) => setImmediate(resolve));
  let got = 0;
  socket.on('data', (bytes: Buffer) => {
    got += bytes.length;
  });
  await new Promise((resolve) => socket.once('close', resolve));
  assert.ok(got < 16 << 20, 'all of it was kept');
  await server.close(0);
});

test('a connection whose stream the server ended goes with it, while another request is still answered', {
  timeout: 10_000,
}, async () => {
  const slow = Promise.withResolvers<void>();
  const stream: PullBody = { pull: () => undefined, onReady: () => {}, close: () => {} };
  const server = createHttpServer({
    tls: undefined,
    handler: async ({ url }) => {
      if (url === '/stream') return { status: 200, headers: {}, body: stream };
      await slow.promise;
      return { status: 200, headers: {}, body: Buffer.from('slow.') };
    },
  });
  const { port } = await server.listen(0, '127.0.0.1');
  const ask = async (path: string) => {
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    let text = '';
    socket.on('data', (bytes) => (text += bytes));
    const end = once(socket, 'close').then(() => text);
    return { socket, end };
  };
  const other = await ask('/slow');
  const one = await ask('/stream');
  await once(one.socket, 'data');
  const closed = server.close(60_000);
  assert.match(await one.end, /\r\n\r\n0\r\n\r\n$/);
  slow.resolve();
  assert.match(await other.end, /\r\nConnection: close\r\n.*slow\.$/s);
  await closed;
});
