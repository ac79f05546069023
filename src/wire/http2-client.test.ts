// The HTTP/2 client against a real server on the loopback.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Settings,
} from 'node:http2';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import type { Clock } from '../base/clock.ts';
import { ConnectionError, createHttp2Client, type Http2Client } from './http2-client.ts';

const clock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async () => {},
  timer: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

async function serve(
  t: TestContext,
  answer: (stream: ServerHttp2Stream, path: string) => void,
  settings: Settings = {},
): Promise<{ client: Http2Client; server: Http2Server; sessions: ServerHttp2Session[] }> {
  const server = createServer({ settings });
  const sessions: ServerHttp2Session[] = [];
  server.on('session', (session) => sessions.push(session));
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {});
    answer(stream, String(headers[':path']));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = createHttp2Client(clock, {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
  t.after(async () => {
    await client.close();
    for (const session of sessions) session.destroy();
    server.close();
  });
  return { client, server, sessions };
}

/** Sends requests until one comes over a second session. */
async function eventuallyNew(client: Http2Client, sessions: readonly ServerHttp2Session[]): Promise<void> {
  while (sessions.length < 2) await client.request(get('/')).catch(() => undefined);
}

async function text(body: AsyncIterable<Buffer>): Promise<string> {
  let all = '';
  for await (const chunk of body) all += chunk.toString();
  return all;
}
const get = (path: string) => ({ method: 'GET', path, headers: {} });

describe('createHttp2Client', () => {
  it('sends many requests over one session', async (t) => {
    const { client, sessions } = await serve(t, (stream, path) => {
      stream.respond({ ':status': 200, 'x-path': path });
      stream.end(path);
    });
    const bodies = await Promise.all(
      Array.from({ length: 50 }, async (_, i) => text((await client.request(get(`/${i}`))).body)),
    );
    assert.deepEqual(
      bodies,
      Array.from({ length: 50 }, (_, i) => `/${i}`),
    );
    assert.equal(sessions.length, 1);
  });

  it('has streams without end on as many sessions as the server has room for, and never waits for their end', async (t) => {
    const { client, sessions } = await serve(
      t,
      (stream, path) => {
        stream.respond({ ':status': 200 });
        if (path !== '/watch') stream.end(path);
      },
      { maxConcurrentStreams: 5 },
    );
    const ending = new AbortController();
    const { signal } = ending;
    const watches = await Promise.all(
      Array.from({ length: 12 }, () => client.request({ ...get('/watch'), signal })),
    );
    assert.deepEqual([watches.length, sessions.length], [12, 3]);
    for (let i = 0; i < 10; i++) assert.equal(await text((await client.request(get('/a'))).body), '/a');
    assert.equal(sessions.length, 3, 'room that there is again is used');
    ending.abort();
    for (const { body } of watches) assert.equal(await text(body), '');
  });

  it('gives up on a server that closes each connection', async (t) => {
    const { client, server, sessions } = await serve(t, () => {});
    server.on('session', (session) => session.close());
    await assert.rejects(client.request(get('/')), ConnectionError);
    assert.ok(sessions.length <= 3, `${sessions.length} connections`);
  });

  it('sends a body', async (t) => {
    const { client } = await serve(t, (stream) => {
      stream.respond({ ':status': 201 });
      stream.pipe(stream);
    });
    const response = await client.request({ ...get('/'), method: 'POST', body: Buffer.from('hello') });
    assert.deepEqual([response.status, await text(response.body)], [201, 'hello']);
  });

  it('connects again after the session died', async (t) => {
    const { client, sessions } = await serve(t, (stream) => {
      stream.respond({ ':status': 200 });
      stream.end('ok');
    });
    await text((await client.request(get('/'))).body);
    const closed = new Promise((resolve) => sessions[0]!.once('close', resolve));
    sessions[0]!.destroy();
    await closed;
    let body = '';
    for (let tries = 0; body === '' && tries < 10; tries++)
      body = await client.request(get('/')).then(
        (r) => text(r.body),
        () => '',
      );
    assert.equal(body, 'ok');
  });

  it('gives up on a server that does not answer', async (t) => {
    const { client } = await serve(t, () => {});
    await assert.rejects(
      client.request({ ...get('/x'), timeoutMs: 20 }),
      (e: unknown) => e instanceof ConnectionError && e.code === 'ETIMEDOUT',
    );
  });

  it('names the address when nobody listens', async () => {
    const client = createHttp2Client(clock, { origin: 'http://127.0.0.1:1' });
    await assert.rejects(
      client.request(get('/')),
      (e: unknown) =>
        e instanceof ConnectionError && e.code === 'ECONNREFUSED' && e.message.includes('http://127.0.0.1:1'),
    );
    await client.close();
  });

  it('leaves no socket behind when it is closed while it connects, or after it was told to go away', async (t) => {
    const silent = createTcpServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    t.after(() => silent.close());
    const port = (silent.address() as AddressInfo).port;
    // The handshake of TLS never ends.
    const connecting = createHttp2Client(clock, { origin: `https://127.0.0.1:${port}` });
    const refused = assert.rejects(connecting.request(get('/')), ConnectionError);
    const [socket] = (await once(silent, 'connection')) as [Socket];
    await connecting.close();
    await refused;
    socket.resume();
    await once(socket, 'close');

    const { client, sessions } = await serve(t, (stream) => stream.respond({ ':status': 200 }));
    const { body } = await client.request(get('/'));
    const reading = text(body).catch(() => '');
    sessions[0]!.goaway();
    const gone = once(sessions[0]!, 'close');
    // The session gets no new streams from now on, and this one never ends.
    await eventuallyNew(client, sessions);
    await client.close();
    await reading;
    await gone;
  });

  it('ends a stream silently when its signal is aborted, and loudly when the server breaks it', async (t) => {
    const open: ServerHttp2Stream[] = [];
    const { client, sessions } = await serve(t, (stream) => {
      stream.respond({ ':status': 200 });
      stream.write('first');
      open.push(stream);
    });
    const abort = new AbortController();
    const watched = await client.request({ ...get('/a'), signal: abort.signal });
    let seen = '';
    for await (const chunk of watched.body) {
      seen += chunk.toString();
      abort.abort();
    }
    assert.equal(seen, 'first');
    const broken = await client.request(get('/b'));
    await assert.rejects(async () => {
      for await (const _ of broken.body) sessions[0]!.destroy();
    }, ConnectionError);
  });

  it('refuses a request whose signal is aborted already', async (t) => {
    const { client } = await serve(t, (stream) => stream.respond({ ':status': 200 }, { endStream: true }));
    await assert.rejects(client.request({ ...get('/'), signal: AbortSignal.abort(new Error('stopped')) }), {
      message: 'stopped',
    });
  });
});
