// Requests that are sent without waiting for answers: one after the other, in turns with other connections.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { createCertificateAuthority, issueCertificate } from '../crypto/certificates.ts';
import { Answers } from './answers.ts';
import type { HttpRequest, HttpResponse, PullBody } from './http-message.ts';
import { createHttpServer, type HttpServer, type ServerTls } from './http-server.ts';
import { Http1Service } from './http1-service.ts';
import { SessionClients } from './session-clients.ts';

const ok = (text: string): HttpResponse => ({ status: 200, headers: {}, body: Buffer.from(text) });
const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function serving(
  handler: (request: HttpRequest) => Promise<HttpResponse>,
  tls?: ServerTls,
): Promise<{ readonly server: HttpServer; readonly port: number }> {
  const server = createHttpServer({ handler, tls });
  return { server, port: (await server.listen(0, '127.0.0.1')).port };
}

class Client {
  readonly socket: Socket;
  /** All it has been sent. */
  text = '';
  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => {});
    socket.on('data', (bytes: Buffer) => {
      this.text += bytes.toString('latin1');
    });
  }
  get answers(): readonly string[] {
    return this.text.split('HTTP/1.1 ').slice(1);
  }
  async until(end: string): Promise<void> {
    while (!this.text.endsWith(end)) await once(this.socket, 'data');
  }
}

async function client(port: number, localAddress = '127.0.0.1'): Promise<Client> {
  const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true });
  await once(socket, 'connect');
  return new Client(socket);
}

test('pipelined requests begin one after the other, each when the one before it is answered', async () => {
  let underWay = 0;
  let most = 0;
  const { server, port } = await serving(async ({ url }) => {
    most = Math.max(most, ++underWay);
    await turn();
    underWay--;
    return ok(`${url}.`);
  });
  const one = await client(port);
  const paths = Array.from({ length: 500 }, (_, i) => `/${i}`);
  one.socket.write(paths.map((path) => get(path)).join(''));
  await one.until('/499.');
  assert.equal(most, 1);
  assert.deepEqual(
    one.answers.map((answer) => answer.slice(answer.lastIndexOf('/'), -1)),
    paths,
  );
  one.socket.destroy();
  await server.close(0);
});

/** What is done at once takes its time, and is noted. */
async function busyServer() {
  const order: string[] = [];
  const waited: (boolean | undefined)[] = [];
  const serve = await serving(async (request) => {
    const { url } = request;
    order.push(url);
    waited.push(request.waited);
    const until = performance.now() + 1;
    while (performance.now() < until);
    return ok(`${url}.`);
  });
  return { order, waited, ...serve };
}

test('a thousand requests in one write let that of another connection pass', async () => {
  const { server, port, order, waited } = await busyServer();
  const [tenant, other] = [await client(port), await client(port)];
  tenant.socket.write(get('/flood').repeat(1000));
  other.socket.write(get('/other'));
  await other.until('/other.');
  assert.ok(order.length < 150, `${order.length} begun when it was answered`);
  assert.equal(waited[0], false);
  assert.ok(waited.includes(true), 'who waited for a turn is told apart');
  for (const { socket } of [tenant, other]) socket.destroy();
  await server.close(0);
});

test('two hundred connections of one address let the first request of another address pass', async () => {
  const { server, port, order } = await busyServer();
  const tenant = await Promise.all(Array.from({ length: 200 }, () => client(port)));
  const other = await client(port, '127.0.0.2');
  // Connections are accepted one in a round.
  for (const one of [...tenant, other]) {
    one.socket.write(get('/here'));
    await one.until('/here.');
  }
  order.length = 0;
  for (const { socket } of tenant) socket.write(get('/flood').repeat(5));
  other.socket.write(get('/other'));
  await other.until('/other.');
  assert.ok(order.length < 150, `${order.length} begun when it was answered`);
  for (const { socket } of [...tenant, other]) socket.destroy();
  await server.close(0);
});

test('what follows a request that is under way is not read: the client keeps it', async () => {
  let asked = 0;
  let go = (): void => {};
  const { server, port } = await serving(async ({ url }) => {
    if (url === '/held') {
      asked++;
      await new Promise<void>((resolve) => {
        go = resolve;
      });
    }
    return ok(`${url}.`);
  });
  const [tenant, other] = [await client(port), await client(port)];
  const flood = Buffer.from(get('/held').repeat(30_000));
  for (let i = 0; i < 32; i++) tenant.socket.write(flood);
  const all = 32 * flood.length;
  for (let i = 0; i < 200; i++) {
    other.socket.write(get(`/${i}`));
    await other.until(`/${i}.`);
  }
  assert.equal(asked, 1);
  // The kernel's buffers are a few megabytes.
  assert.ok(tenant.socket.writableLength > all / 2, `${tenant.socket.writableLength} of ${all}`);
  for (const { socket } of [tenant, other]) socket.destroy();
  go();
  await server.close(0);
});

test('requests are the same however their bytes are cut, whatever their bodies look like', async () => {
  const seen: string[] = [];
  const { server, port } = await serving(async (request) => {
    const body = await request.readBody(10_000);
    seen.push(`${request.method} ${request.url} ${body.toString('latin1')}`);
    return ok(request.url === '/last' ? 'last.' : '');
  });
  const inner = `\r\n\r\n${get('/smuggled')}`;
  const counted = `POST /counted HTTP/1.1\r\nHost: a\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`;
  const chunks = `${inner.length.toString(16)}\r\n${inner}\r\n1\r\nx\r\n0\r\n`;
  const chunked = `POST /chunked HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`;
  const bytes = Buffer.from(
    `\r\n${get('/first')}\r\n\r\n${counted}${chunked}\r\n${counted}${chunked}Trailer: 1\r\n\r\n${get('/last')}`,
  );
  const [one, two] = [`POST /counted ${inner}`, `POST /chunked ${inner}x`];
  for (let size = 1; size <= bytes.length; size += size < 40 ? 1 : 37) {
    seen.length = 0;
    const all = await client(port);
    all.socket.setNoDelay();
    for (let at = 0; at < bytes.length; at += size) {
      all.socket.write(bytes.subarray(at, at + size));
      await turn();
    }
    await all.until('last.');
    assert.deepEqual(seen, ['GET /first ', one, two, one, two, 'GET /last '], `in pieces of ${size}`);
    all.socket.destroy();
  }
  await server.close(0);
});

async function certified(): Promise<ServerTls> {
  const times = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 60_000 };
  const authority = await createCertificateAuthority({ commonName: 'test', ...times });
  const names = { commonName: 'test', usages: ['server'], ips: ['127.0.0.1'] } as const;
  const pair = await issueCertificate(authority, { ...names, ...times });
  return { key: pair.privateKeyPem, cert: pair.certificatePem };
}

for (const over of ['TCP', 'TLS'])
  test(`who sends a hundred requests and its end over ${over} is answered, then the connection ends`, async () => {
    const { server, port } = await serving(
      async ({ url }) => {
        await turn();
        return ok(`${url}.`);
      },
      over === 'TLS' ? await certified() : undefined,
    );
    const to = { port, host: '127.0.0.1', allowHalfOpen: true, rejectUnauthorized: false };
    const socket = over === 'TLS' ? connectTls(to) : connect(to);
    const all = new Client(socket);
    const closed = once(socket, 'end');
    socket.end(get('/one').repeat(99) + get('/last'));
    await closed;
    assert.equal(all.answers.length, 100);
    assert.match(all.text, /\/last\.$/);
    socket.destroy();
    await server.close(0);
  });

test('who leaves is noticed: while its request waits, and while its answer goes on', async () => {
  let told = (): void => {};
  const aborted = new Promise<void>((resolve) => {
    told = resolve;
  });
  let freed = (): void => {};
  const closed = new Promise<void>((resolve) => {
    freed = resolve;
  });
  const endless: PullBody = { pull: () => undefined, onReady: () => undefined, close: () => freed() };
  const { server, port } = await serving(async ({ url, signal }) => {
    if (url === '/stream') return { status: 200, headers: {}, body: endless };
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    told();
    return ok('too late');
  });
  const [waiting, streaming] = [await client(port), await client(port)];
  waiting.socket.end(get('/wait'));
  streaming.socket.write(get('/stream'));
  await streaming.until('\r\n\r\n');
  streaming.socket.end();
  await Promise.all([aborted, closed]);
  for (const { socket } of [waiting, streaming]) socket.destroy();
  await server.close(0);
});

const tlsWays = ['end', 'destroy'] as const;
const tcpWays = [...tlsWays, 'resetAndDestroy'] as const;

/** Tells how many of its requests have ended, and of each new end. */
async function endlessServer(tls: ServerTls | undefined) {
  const ends = { count: 0, next: Promise.withResolvers<void>() };
  const ended = (): void => {
    ends.count++;
    ends.next.resolve();
    ends.next = Promise.withResolvers<void>();
  };
  const asked: string[] = [];
  const serve = await serving(async ({ url, signal }) => {
    asked.push(url);
    if (url === '/stream')
      return {
        status: 200,
        headers: {},
        body: { pull: () => undefined, onReady: () => undefined, close: ended },
      };
    if (url !== '/wait') return ok(`${url}.`);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    ended();
    return ok('too late');
  }, tls);
  const until = async (count: number): Promise<void> => {
    while (ends.count < count) await ends.next.promise;
  };
  return { ...serve, asked, until };
}

for (const over of ['TCP', 'TLS'])
  test(`who leaves is noticed over ${over} when something lies behind its request`, {
    timeout: 20_000,
  }, async () => {
    const tls = over === 'TLS' ? await certified() : undefined;
    const { server, port, asked, until } = await endlessServer(tls);
    const to = { port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] };
    let left = 0;
    for (const path of ['/stream', '/wait'])
      for (const behind of ['G', get('/never'), 'x'.repeat(60_000)])
        for (const leave of tls ? tlsWays : tcpWays) {
          const one = new Client(tls ? connectTls(to) : connect(to));
          one.socket.write(get('/first') + get(path) + behind);
          await one.until(path === '/stream' ? '\r\n\r\n' : '/first.');
          one.socket[leave]();
          await until(++left);
          one.socket.destroy();
        }
    assert.equal(asked.filter((path) => path === '/wait').length, left / 2);
    await server.close(0);
  });

test('who sends much behind a request whose answer has no end is cut', { timeout: 20_000 }, async () => {
  const { server, port, until } = await endlessServer(undefined);
  const [early, late] = [await client(port), await client(port)];
  const much = get('/never').repeat(20_000);
  const cuts = [early, late].map(({ socket }) => new Promise((resolve) => socket.once('close', resolve)));
  early.socket.write(get('/stream') + much);
  late.socket.write(get('/stream'));
  await late.until('\r\n\r\n');
  late.socket.write(much);
  await Promise.all([until(2), ...cuts]);
  await server.close(0);
});

test('a stream that has ended leaves what was sent behind it to be answered', async () => {
  const body = (): PullBody => ({ pull: () => null, onReady: () => undefined, close: () => undefined });
  const { server, port } = await serving(async ({ url }) =>
    url === '/short' ? { status: 200, headers: {}, body: body() } : ok(`${url}.`),
  );
  const one = await client(port);
  one.socket.end(get('/short') + get('/next').repeat(999) + get('/last'));
  await one.until('/last.');
  assert.equal(one.answers.length, 1001);
  one.socket.destroy();
  await server.close(0);
});

/** Connections as they are behind a door, without turns. */
async function connections(
  handler: (request: HttpRequest) => Promise<HttpResponse>,
  clients?: SessionClients,
): Promise<{ readonly door: TcpServer; readonly port: number; readonly accepted: Promise<Socket> }> {
  const accepted = Promise.withResolvers<Socket>();
  const service = new Http1Service({
    answers: new Answers({ handler, onError: () => {} }),
    rounds: { begin: () => undefined },
    peers: () => ({}),
    clock: { now: Date.now },
    ...(clients ? { clients } : {}),
  });
  const door = createTcpServer((socket) => {
    service.serve(socket);
    accepted.resolve(socket);
  });
  door.listen(0, '127.0.0.1');
  await once(door, 'listening');
  return { door, port: (door.address() as AddressInfo).port, accepted: accepted.promise };
}

test('who leaves is noticed when it had sent more than is kept', { timeout: 20_000 }, async () => {
  const gone = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const { door, port } = await connections(({ signal }) => {
    signal.addEventListener('abort', () => gone.resolve());
    begun.resolve();
    return new Promise(() => {});
  }, new SessionClients(20));
  const one = await client(port);
  await new Promise((resolve) => one.socket.write(get('/wait') + 'x'.repeat(200_000), resolve));
  await begun.promise;
  one.socket.end();
  await gone.promise;
  one.socket.destroy();
  door.close();
});

test('what comes in pieces of a byte behind a request is put together once, not for each piece', async (t) => {
  let copied = 0;
  const concat = Buffer.concat.bind(Buffer);
  t.mock.method(Buffer, 'concat', (list: readonly Uint8Array[], length?: number) => {
    const all = concat(list, length);
    copied += all.length;
    return all;
  });
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<HttpResponse>();
  const { door, port, accepted } = await connections(async ({ url }) => {
    if (url !== '/held') return ok('behind.');
    begun.resolve();
    return held.promise;
  });
  const one = await client(port);
  one.socket.write(get('/held'));
  await begun.promise;
  const socket = await accepted;
  const behind = get('/behind', `X: ${'x'.repeat(8000)}\r\n`);
  for (const byte of behind) socket.emit('data', Buffer.from(byte));
  held.resolve(ok('held.'));
  await one.until('behind.');
  assert.ok(copied < 5 * behind.length, `${copied} bytes copied for ${behind.length}`);
  one.socket.destroy();
  door.close();
});

test('however a chunked body ends, the request behind it waits for its answer', async () => {
  let [underWay, most] = [0, 0];
  const { server, port } = await serving(async (request) => {
    most = Math.max(most, ++underWay);
    await request.readBody(1000);
    await turn();
    underWay--;
    return ok(`${request.url}.`);
  });
  const bodies = [
    '0\r\n\r\n',
    '000;a=b\r\n\r\n',
    '1\r\nx\r\n0\r\nTrailer: 1\r\n\r\n',
    '7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n',
    '3\r\n\r\n0\r\n00\r\n\r\n',
  ];
  const post = 'POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
  const one = await client(port);
  one.socket.write(bodies.map((body) => (post + body).repeat(50)).join('') + get('/last'));
  await one.until('/last.');
  assert.deepEqual([most, one.answers.length], [1, 251]);
  one.socket.destroy();
  await server.close(0);
});

test('a chunk of empty lines is read as the text of its length', { timeout: 20_000 }, async () => {
  const lines = `${'\r\n'.repeat(88_000)}a: b`;
  const sent = [
    `Content-Length: ${lines.length}\r\n\r\n${lines}`,
    `Transfer-Encoding: chunked\r\n\r\n${lines.length.toString(16)}\r\n${lines}\r\n0\r\n\r\n`,
  ];
  const { server, port } = await serving(async (request) => {
    const body = await request.readBody(3 << 20);
    return ok(body.toString('latin1') === lines ? 'same.' : 'other.');
  });
  for (const how of sent) {
    const one = await client(port);
    one.socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${how}`);
    await one.until('.');
    assert.match(one.text, /same\.$/);
    one.socket.destroy();
  }
  await server.close(0);
});

test('what is sent right behind an upgrade is for whom it is upgraded to, in its order', async () => {
  const { server, port } = await serving(async ({ url, upgrade }) => {
    if (upgrade === undefined) return ok(`${url}.`);
    const { socket, head } = upgrade;
    await turn();
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n`);
    socket.write(head);
    socket.on('data', (bytes: Buffer) => void socket.write(bytes));
    return { status: 101, headers: {}, body: undefined, hijacked: true };
  });
  const one = await client(port);
  const echoed = `${get('/echoed').repeat(1000)}!`;
  const upgrade = 'Connection: Upgrade\r\nUpgrade: echo\r\n';
  one.socket.write(get('/first') + get('/echo', upgrade) + echoed);
  await one.until('!');
  one.socket.write('more?');
  await one.until('more?');
  assert.ok(one.text.endsWith(`\r\n\r\n${echoed}more?`));
  assert.equal(one.answers.slice(0, 2).length, 2);
  one.socket.destroy();
  const other = await client(port);
  other.socket.write(`${get('/plain', `${upgrade}Content-Length: 4\r\n`)}body${get('/next')}`);
  await other.until('/next.');
  assert.match(other.text, /\/plain\.HTTP/);
  other.socket.destroy();
  await server.close(0);
});
