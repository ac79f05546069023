// The server's end: what is left of connections when it is closed.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { createCertificateAuthority, issueCertificate } from '../crypto/certificates.ts';
import type { PullBody } from './http-message.ts';
import { createHttpServer, type HttpServer, type HttpServerOptions } from './http-server.ts';
import { TurnedSocket } from './turned-socket.ts';

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

test('of the handshakes of one address under way the oldest is let go beyond 1,024, others are served', async () => {
  const { server, port } = await listening();
  const first = await silent(port);
  const gone = once(first, 'close');
  const rest = [];
  for (let i = 1; i < 1024; i++) rest.push(await silent(port));
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

const http2 = (port: number): ClientHttp2Session => {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  session.on('error', () => {});
  return session;
};

test('S15: two hundred requests of one connection let that of another pass', async () => {
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
  const [tenant, other] = [http2(port), http2(port)];
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
  const sessions = Array.from({ length: 10 }, () => http2(port));
  const ask = async (session: ClientHttp2Session): Promise<void> => {
    await once(session.request({ ':path': '/' }).resume(), 'end');
  };
  const had = (): number => took.mock.calls.filter(({ result }) => result === true).length;
  while (had() === 0) await Promise.all(sessions.map(ask));
  for (const session of sessions) session.destroy();
  await server.close(0);
});

/** What a client says first, and says no more. */
function hello(): Promise<Buffer> {
  return new Promise((resolve) => {
    const wire = new Duplex({ read: () => {}, write: (bytes) => resolve(bytes) });
    connectTls({ socket: wire, rejectUnauthorized: false }).on('error', () => {});
  });
}

/** A connection over which a hello can be said, and who is told of the answer. */
async function greeter(port: number, answered: () => void): Promise<Socket> {
  const socket = await silent(port);
  socket.once('data', answered);
  return socket;
}

test('S15: of two hundred hellos of one address a few are answered before the request of another', async () => {
  let answered = 0;
  const { server, port } = await listening({
    handler: async () => ({ status: 200, headers: {}, body: Buffer.from('x') }),
  });
  const other = http2(port);
  const ask = async (): Promise<void> => {
    await once(other.request({ ':path': '/' }).resume(), 'end');
  };
  await ask();
  const bytes = await hello();
  const sockets = [];
  for (let i = 0; i < 200; i++) sockets.push(await greeter(port, () => answered++));
  // The first answer says that the server has begun with them: all have been sent.
  const begun = once(sockets[0]!, 'data');
  for (const socket of sockets) socket.write(bytes);
  await begun;
  await ask();
  assert.ok(answered <= 100, `after ${answered}`);
  for (const socket of sockets) socket.destroy();
  other.destroy();
  await server.close(0);
});

test('who says hello and no more lets the others of its address pass, and is not cut for it', async () => {
  const { server, port } = await listening();
  const bytes = await hello();
  const sockets = [];
  for (let i = 0; i < 20; i++) {
    const socket = await silent(port);
    socket.write(bytes);
    sockets.push(socket);
  }
  const known = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(known, 'secureConnect');
  assert.deepEqual(
    sockets.filter((socket) => socket.destroyed),
    [],
  );
  known.destroy();
  for (const socket of sockets) socket.destroy();
  await server.close(0);
});

test('of one address 128 may be slow to go on after their hello: those beyond are let go', async () => {
  const { server, port } = await listening({ handshakeTimeoutMs: 60_000 });
  const bytes = await hello();
  let gone = 0;
  const sockets: Socket[] = [];
  // Which of them is the oldest, the order in which the server saw their hellos says.
  const twelve = new Promise<void>((resolve) => {
    for (let i = 0; i < 140; i++) {
      const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
      socket.on('error', () => {});
      socket.once('close', () => {
        if (++gone === 12) resolve();
      });
      sockets.push(socket.resume());
    }
  });
  await twelve;
  assert.equal(sockets.filter((socket) => !socket.destroyed).length, 128);
  for (const socket of sockets) socket.destroy();
  await server.close(0);
});

test('a hello that comes byte by byte is answered', async () => {
  const { server, port } = await listening();
  const socket = await silent(port);
  socket.setNoDelay(true);
  const answered = once(socket, 'data');
  for (const byte of await hello()) {
    socket.write(Buffer.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  const [first] = (await answered) as [Buffer];
  // A handshake record: its own hello.
  assert.equal(first[0], 0x16);
  socket.destroy();
  await server.close(0);
});

test('a client that leaves after its hello, or says something else, gives up its place', async () => {
  const { server, port } = await listening();
  const bytes = await hello();
  for (const said of [bytes, bytes.subarray(0, 9), Buffer.from('GET / HTTP/1.1\r\n\r\n'), Buffer.alloc(0)])
    for (let i = 0; i < 10; i++) {
      const socket = await silent(port);
      const closed = once(socket, 'close');
      socket.end(said);
      await closed;
    }
  const known = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(known, 'secureConnect');
  known.destroy();
  await server.close(0);
});

test('a connection on which twenty large answers wait to be read is still served', async () => {
  const { server, port } = await listening({
    handler: async () => ({ status: 200, headers: {}, body: Buffer.alloc(900_000) }),
  });
  const session = http2(port);
  const waiting = Array.from({ length: 20 }, () => session.request({ ':path': '/' }));
  await Promise.all(waiting.map((stream) => once(stream, 'response')));
  const [headers] = await once(session.request({ ':path': '/' }), 'response');
  assert.equal(headers[':status'], 200);
  session.destroy();
  await server.close(0);
});

test('F14: HTTP/1.0 with Transfer-Encoding has no body, as in Go, and nothing after it is a request', async () => {
  const seen: string[] = [];
  const { server, port } = await listening({
    tls: undefined,
    handler: async (request) => {
      seen.push(`${request.method} ${request.url} ${(await request.readBody(1000)).length}`);
      return { status: 200, headers: {}, body: Buffer.from('ok') };
    },
  });
  const head =
    'POST /first HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n';
  const rests = [
    '5\r\nhello\r\n0\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /second HTTP/1.1\r\nHost: x\r\n\r\n',
    '0\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: spdy\r\n\r\n',
  ];
  for (const rest of rests) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    const closed = once(socket, 'close');
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    socket.write(head + rest);
    await closed;
    assert.ok(text.split('HTTP/1.1 ').length <= 2, text);
    if (rest === rests[0]) assert.match(text, /^HTTP\/1\.1 200 OK\r\n/);
  }
  assert.deepEqual(
    seen.filter((one) => one !== 'POST /first 0'),
    [],
  );
  await server.close(0);
});

test('a body in another coding than chunks is answered as by Go, and nothing after it is a request', async () => {
  const seen: string[] = [];
  const { server, port } = await listening({
    tls: undefined,
    handler: async (request) => {
      seen.push(`${request.url} ${(await request.readBody(1000)).length}`);
      return { status: 200, headers: {}, body: Buffer.from('ok') };
    },
  });
  const ask = async (coding: string): Promise<string> => {
    const socket = await silent(port);
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    const closed = once(socket, 'close');
    const body = '5\r\nhello\r\n0\r\n\r\n';
    socket.write(
      `POST /coded HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: ${coding}\r\n\r\n${body}GET /second HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    await closed;
    return text;
  };
  for (const coding of ['gzip, chunked', 'identity, chunked']) {
    const text = await ask(coding);
    assert.match(text, /^HTTP\/1\.1 501 Not Implemented\r\n/, coding);
    assert.match(text, /\r\nconnection: close\r\n/i, coding);
    assert.ok(text.endsWith('\r\n\r\nUnsupported transfer encoding'), text);
  }
  assert.deepEqual(seen, []);
  await ask('Chunked');
  assert.deepEqual(seen, ['/coded 5', '/second 0']);
  await server.close(0);
});

test('a request without one host is answered as by Go, and nothing after it is a request', async () => {
  const seen: string[] = [];
  const { server, port } = await listening({
    tls: undefined,
    handler: async ({ url, headers }) => {
      seen.push(`${url} ${headers['host'] ?? 'none'}`);
      return { status: 200, headers: {}, body: Buffer.from('ok') };
    },
  });
  const ask = async (first: string): Promise<string> => {
    const socket = await silent(port);
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    const closed = once(socket, 'close');
    socket.write(`GET /first ${first}\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await closed;
    return text;
  };
  const upgrade = 'Connection: Upgrade\r\nUpgrade: spdy';
  for (const [hosts, said] of [
    ['Host: x\r\nHost: x', ''],
    ['Host: x\r\nhost:', ''],
    [`Host: x\r\nHost: y\r\n${upgrade}`, ''],
    ['X: y', ': missing required Host header'],
    [upgrade, ': missing required Host header'],
    ['Host: a b', ': malformed Host header'],
    ['Host: a@b', ': malformed Host header'],
    ['Host: /', ': malformed Host header'],
  ] as const) {
    const text = await ask(`HTTP/1.1\r\n${hosts}`);
    assert.match(text, /^HTTP\/1\.1 400 Bad Request\r\n/, hosts);
    assert.match(text, /\r\nconnection: close\r\n/i, hosts);
    assert.ok(text.endsWith(`\r\n\r\n400 Bad Request${said}`), text);
  }
  assert.deepEqual(seen, []);
  await ask('HTTP/1.1\r\nHost: [fe80::1%25eth0]:6443');
  await ask('HTTP/1.1\r\nHost:');
  await ask('HTTP/1.0\r\nConnection: keep-alive');
  const [named, empty, none] = ['/first [fe80::1%25eth0]:6443', '/first ', '/first none'];
  assert.deepEqual(seen, [named, '/second x', empty, '/second x', none, '/second x']);
  await server.close(0);
});

test('a long request that arrives while a long answer is on its way is read, and answered after it', async () => {
  const long = Buffer.alloc(4 << 20, 'a');
  const { server, port } = await listening({
    handler: async (request) => {
      const sent = await request.readBody(1 << 20);
      return {
        status: 200,
        headers: {},
        body: request.url === '/long' ? long : Buffer.from(`got ${sent.length}`),
      };
    },
  });
  const socket = connectTls({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
  });
  await once(socket, 'secureConnect');
  let answer = '';
  const ended = new Promise((resolve) => socket.once('close', resolve));
  const answered = new Promise((resolve) => {
    socket.on('data', (bytes: Buffer) => {
      // Its head says that the first is on its way: nobody reads on until the second has been sent.
      if (answer === '') {
        socket.pause();
        socket.write(
          `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n${'b'.repeat(300_000)}`,
          () => socket.resume(),
        );
      }
      answer += bytes.toString('latin1');
      if (answer.endsWith('got 300000')) resolve('answered');
    });
  });
  socket.write('GET /long HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.equal(await Promise.race([answered, ended]), 'answered');
  socket.destroy();
  await server.close(0);
});

async function longChain(): Promise<{ key: string; cert: string }> {
  const times = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 60_000 };
  const authority = await createCertificateAuthority({ commonName: 'stranger', ...times });
  const pair = await issueCertificate(authority, { commonName: 'stranger', ...times, usages: ['client'] });
  return { key: pair.privateKeyPem, cert: pair.certificatePem + authority.certificatePem.repeat(60) };
}

test('W4: a chain of dozens of client certificates is cut before a signature of it is looked at', async () => {
  const { server, port } = await listening();
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ...(await longChain()) });
  socket.on('error', () => {});
  const known = once(socket, 'secureConnect').then(
    () => socket.write('GET / HTTP/1.1\r\n\r\n'),
    () => {},
  );
  let got = '';
  socket.on('data', (bytes: Buffer) => {
    got += bytes;
  });
  await new Promise((resolve) => socket.once('close', resolve));
  await known;
  assert.equal(got, '', 'nothing is answered');
  await server.close(0);
});

test('a second handshake on a connection is refused: it could be of any length', async () => {
  const { server, port } = await listening();
  const socket = connectTls({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    maxVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
  });
  await once(socket, 'secureConnect');
  socket.renegotiate({ rejectUnauthorized: false }, () => {});
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  assert.match(error.message, /renegotiation/i);
  socket.on('error', () => {});
  socket.destroy();
  await server.close(0);
});

test('W2: beyond what may be open the oldest connection of the largest crowd goes, a new one is served', async () => {
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

test('W7: an HTTP/2 connection without streams whose client takes nothing at all is let go', async () => {
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

async function knownTo(port: number): Promise<Socket> {
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

test('a request that names the whole URL, as of a proxy, is one for its path', async () => {
  const asked: string[] = [];
  const { server, port } = await listening({
    tls: undefined,
    handler: async ({ url }) => {
      asked.push(url);
      return { status: 200, headers: {}, body: Buffer.from('x') };
    },
  });
  const socket = await silent(port);
  const targets = [
    'http://h:6443/version?a=b',
    'HTTPS://h/a//b',
    'http://h',
    'http://h?a=b',
    '/http://h/x',
    '*',
  ];
  for (const target of targets) {
    socket.write(`${target === '*' ? 'OPTIONS' : 'GET'} ${target} HTTP/1.1\r\nhost: h\r\n\r\n`);
    await once(socket, 'data');
  }
  assert.deepEqual(asked, ['/version?a=b', '/a//b', '/', '/?a=b', '/http://h/x', '*']);
  socket.destroy();
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
