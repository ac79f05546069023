// Requests to servers that speak HTTP/2: side by side, asked again only where nobody has looked at them, and bounded.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from 'node:tls';
import { createCertificateAuthority, issueCertificate } from '../crypto/certificates.ts';
import { BackendError, type BackendRequest, readTextOf } from './backend.ts';
import { type HttpResponse, isPullBody, type PullBody } from './http-message.ts';
import { SpokenProtocols } from './spoken-protocols.ts';

const dates = { notBefore: 0, notAfter: Date.now() + 3_600_000 };
const ca = await createCertificateAuthority({ commonName: 'authority', ...dates });
const names = { commonName: 'server', usages: ['server'] as const, ips: ['127.0.0.1'] };
const { certificatePem: cert, privateKeyPem: key } = await issueCertificate(ca, { ...names, ...dates });

interface Running {
  readonly sessions: ServerHttp2Session[];
  /** How many were begun. */
  readonly streams: ServerHttp2Stream[];
  readonly heads: IncomingHttpHeaders[];
  ask(path: string, more?: Partial<BackendRequest>): Promise<HttpResponse | undefined>;
  text(path: string): Promise<string>;
}

async function serving(
  t: TestContext,
  answer: (stream: ServerHttp2Stream, path: string, running: Running) => void,
  options: Parameters<typeof createSecureServer>[0] = {},
): Promise<Running> {
  const server: Http2SecureServer = createSecureServer({ cert, key, ...options });
  const client = new SpokenProtocols();
  const [sessions, streams]: [ServerHttp2Session[], ServerHttp2Stream[]] = [[], []];
  const ask: Running['ask'] = (path, more) =>
    client.request(
      {
        host: '127.0.0.1',
        port: (server.address() as AddressInfo).port,
        tls: { verify: true, ca: ca.certificatePem },
      },
      { method: 'GET', path, headers: {}, ...more },
    );
  const text = async (path: string): Promise<string> =>
    readTextOf((await ask(path))!.body as PullBody, 1 << 20);
  const heads: IncomingHttpHeaders[] = [];
  const running = { sessions, streams, heads, ask, text };
  server.on('session', (session) => {
    sessions.push(session);
    session.on('error', () => {});
  });
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    streams.push(stream);
    heads.push(headers);
    stream.on('error', () => {});
    answer(stream, String(headers[':path']), running);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    client.close();
    for (const session of sessions) session.destroy();
    server.close();
  });
  return running;
}

const well = (stream: ServerHttp2Stream, path: string): void => {
  stream.respond({ ':status': 200 });
  stream.end(path);
};

test('a hundred requests and a watch go by one connection', async (t) => {
  const running = await serving(t, (stream, path) => {
    if (path === '/watch') stream.respond({ ':status': 200 });
    else well(stream, path);
  });
  const watch = await running.ask('/watch');
  const paths = Array.from({ length: 99 }, (_, i) => `/${i}`);
  assert.deepEqual(await Promise.all(paths.map(running.text)), paths);
  const [stream] = running.streams;
  stream!.write('event');
  const body = watch!.body as PullBody;
  await new Promise<void>((resolve) => body.onReady(resolve));
  assert.equal(String(body.pull(100)), 'event');
  // Who leaves takes its stream along, and no other.
  body.close();
  await once(stream!, 'close');
  assert.equal(await running.text('/after'), '/after');
  assert.equal(running.sessions.length, 1);
});

test('where a server takes no more at once, there is another connection', async (t) => {
  const settings = { maxConcurrentStreams: 2 };
  const running = await serving(
    t,
    (stream, path) => (path === '/watch' ? stream.respond({ ':status': 200 }) : well(stream, path)),
    { settings },
  );
  assert.equal(await running.text('/first'), '/first');
  for (let i = 0; i < 5; i++) assert.equal((await running.ask('/watch'))!.status, 200);
  assert.equal(running.sessions.length, 3);
});

test('what a server has refused unseen is asked again, but not a body that is gone', async (t) => {
  let refusals = 1;
  const running = await serving(t, (stream, path) => {
    if (refusals-- > 0) stream.close(constants.NGHTTP2_REFUSED_STREAM);
    else well(stream, path);
  });
  assert.equal(await running.text('/one'), '/one');
  refusals = 1;
  const gone: PullBody = { pull: () => null, onReady: () => {}, close: () => {} };
  await assert.rejects(running.ask('/two', { method: 'POST', body: gone }), {
    name: 'Error',
    message: /^stream error: stream ID \d+; REFUSED_STREAM; received from peer$/,
  });
  assert.equal(running.streams.length, 3);
});

test('a stream that is reset, and a connection that dies in the middle, are failures once', async (t) => {
  const running = await serving(t, (stream, path) => {
    if (path === '/reset') stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else if (path === '/dies') stream.session!.socket.destroy();
    else if (path === '/half') {
      stream.respond({ ':status': 200 });
      stream.write('half', () => stream.session!.destroy());
    } else well(stream, path);
  });
  await assert.rejects(running.ask('/reset'), {
    message: /^stream error: stream ID \d+; INTERNAL_ERROR; received from peer$/,
  });
  await assert.rejects(running.ask('/dies'), (error) => error instanceof BackendError);
  assert.equal(running.streams.length, 2);
  const { body } = (await running.ask('/half'))!;
  assert.ok(isPullBody(body));
  await assert.rejects(async () => {
    for (let chunk = body.pull(100); chunk !== null; chunk = body.pull(100))
      if (chunk === undefined) await new Promise<void>((resolve) => body.onReady(resolve));
  });
  assert.equal(await running.text('/again'), '/again');
});

test('an answer that is cut off without an error is not the whole', async (t) => {
  const running = await serving(t, (stream) => {
    stream.respond({ ':status': 200 });
    stream.write('half', () => stream.destroy());
  });
  const { body } = (await running.ask('/'))!;
  assert.ok(isPullBody(body));
  await assert.rejects(async () => {
    for (let chunk = body.pull(100); chunk !== null; chunk = body.pull(100))
      if (chunk === undefined) await new Promise<void>((resolve) => body.onReady(resolve));
  });
});

test('a server that goes away finishes what it has begun; what comes then goes to another connection', async (t) => {
  const held = Promise.withResolvers<ServerHttp2Stream>();
  const running = await serving(t, (stream, path) => {
    if (path === '/held') held.resolve(stream);
    else well(stream, path);
  });
  const asked = running.ask('/held');
  const stream = await held.promise;
  running.sessions[0]!.goaway(constants.NGHTTP2_NO_ERROR, stream.id);
  while ((await running.text('/next')) === '/next' && running.sessions.length < 2);
  well(stream, '/held');
  const { body } = (await asked)!;
  assert.equal(await readTextOf(body as PullBody, 100), '/held');
});

test('heads without an end, and answers before the answer, are refused', async (t) => {
  const running = await serving(
    t,
    (stream, path) => {
      if (path === '/informational') for (let i = 0; i < 9; i++) stream.additionalHeaders({ ':status': 103 });
      else if (path === '/long') stream.respond({ ':status': 200, 'x-long': 'x'.repeat(2 << 20) });
      else well(stream, path);
    },
    { maxSendHeaderBlockLength: 8 << 20 } as object,
  );
  await assert.rejects(running.ask('/informational'), { message: /too many 1xx informational responses/ });
  await assert.rejects(running.ask('/long'));
  assert.equal(await running.text('/well'), '/well');
});

test('who speaks HTTP/1.1 alone is told of, and asked nothing', async (t) => {
  const { createServer } = await import('node:https');
  const server = createServer({ cert, key }, () => assert.fail('asked'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new SpokenProtocols();
  t.after(() => {
    client.close();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const target = { host: '127.0.0.1', port, tls: { verify: true, ca: ca.certificatePem } };
  assert.equal(await client.request(target, { method: 'GET', path: '/', headers: {} }), undefined);
});

test('who has gone while the connection was made has nothing sent for them', async (t) => {
  const { ask, streams, text } = await serving(t, well);
  const gone = new AbortController();
  const asked = ask('/gone', { method: 'POST', body: Buffer.from('x'), signal: gone.signal });
  gone.abort();
  await assert.rejects(asked, BackendError);
  assert.equal(await text('/next'), '/next');
  assert.equal(streams.length, 1);
});

test('a token among the subprotocols goes no further', async (t) => {
  const { ask, heads } = await serving(t, well);
  const offered = 'base64url.bearer.authorization.k8s.io.c2VjcmV0, v4.channel.k8s.io';
  await ask('/', { headers: { 'sec-websocket-protocol': offered } });
  assert.equal(heads[0]!['sec-websocket-protocol'], 'v4.channel.k8s.io');
});

test('a body that nobody can be sent is closed, and who has left meanwhile is not asked for', async (t) => {
  const running = await serving(t, well);
  assert.equal(await running.text('/first'), '/first');
  let closed = 0;
  const close = (): void => {
    closed++;
  };
  const body: PullBody = { pull: () => undefined, onReady: () => {}, close };
  // Of this one there may be one only.
  const twice = { 'content-type': ['a', 'b'] };
  await assert.rejects(running.ask('/two', { method: 'POST', headers: twice, body }), BackendError);
  assert.equal(closed, 1);
  const signal = AbortSignal.abort(new Error('gone'));
  await assert.rejects(running.ask('/three', { method: 'POST', signal, body }), { message: 'gone' });
  assert.equal(closed, 2);
  assert.equal(running.streams.length, 1);
});

test('a server that takes a connection and says nothing is waited for as long as the answer, and no longer', async (t) => {
  const { createServer } = await import('node:net');
  const sockets: { destroy(): void }[] = [];
  const server = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new SpokenProtocols();
  t.after(() => {
    client.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const target = { host: '127.0.0.1', port, tls: { verify: true } };
  const left = new AbortController();
  const question = { method: 'GET', path: '/', headers: {} };
  const asked = client.request(target, { ...question, signal: left.signal });
  await once(server, 'connection');
  left.abort(new Error('gone'));
  await assert.rejects(asked, { message: 'gone' });
  const late = client.request(target, { ...question, answerWithinMs: 10 });
  await assert.rejects(late, { message: 'no answer in time' });
});

const frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};

/** Of one that says what it likes in frames, of each first request, and ends nothing. */
async function saying(t: TestContext, ...answers: Buffer[]) {
  const none = Buffer.alloc(0);
  const sockets: TLSSocket[] = [];
  const server = createTlsServer({ cert, key, ALPNProtocols: ['h2'], allowHalfOpen: true } as TlsOptions);
  server.on('secureConnection', (socket) => {
    const answer = answers[sockets.push(socket) - 1]!;
    socket.on('error', () => {});
    // Whom nobody listens to any more is told so.
    socket.once('end', () => socket.write(frame(6, 0, 0, Buffer.alloc(8))));
    socket.write(frame(4, 0, 0, none));
    let said = none;
    socket.on('data', (bytes: Buffer) => {
      said = Buffer.concat([said, bytes]);
      // Its head: the first stream is 1.
      if (said.includes(frame(1, 5, 1, none).subarray(3))) socket.write(answer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new SpokenProtocols();
  t.after(() => {
    client.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const target = { host: '127.0.0.1', port, tls: { verify: true, ca: ca.certificatePem } };
  const text = async (): Promise<string> => {
    const answer = await client.request(target, { method: 'GET', path: '/', headers: {} });
    return readTextOf(answer!.body as PullBody, 100);
  };
  return { sockets, text };
}

const wellIn = Buffer.concat([frame(1, 4, 1, Buffer.from([0x88])), frame(0, 1, 1, Buffer.from('all'))]);
/** `last`: what it has looked at. */
const goesAway = (last: number): Buffer => frame(7, 0, 0, Buffer.from([0, 0, 0, last, 0, 0, 0, 0]));

test('the connection of a server that goes away and does not end it is left', {
  timeout: 20_000,
}, async (t) => {
  const { sockets, text } = await saying(t, Buffer.concat([wellIn, goesAway(1)]));
  assert.equal(await text(), 'all');
  const [socket] = sockets;
  if (!socket!.closed) await new Promise<void>((resolve) => socket!.once('close', () => resolve()));
});

test('what a server that goes away has not looked at is asked again', async (t) => {
  const { sockets, text } = await saying(t, goesAway(0), wellIn);
  assert.equal(await text(), 'all');
  assert.equal(sockets.length, 2);
});
