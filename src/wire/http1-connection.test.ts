// What an HTTP/1 client is told about its connection: how it goes on, and why it ends.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { METHODS } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Answers } from './answers.ts';
import type { HttpRequest, HttpResponse, PullBody } from './http-message.ts';
import { Http1Connection } from './http1-connection.ts';

const ok = (text: string, headers: HttpResponse['headers'] = {}): HttpResponse => ({
  status: 200,
  headers,
  body: Buffer.from(text),
});

/** A client of one connection. */
async function conversation(
  t: TestContext,
  handler: (request: HttpRequest) => Promise<HttpResponse> | HttpResponse,
) {
  const failures: string[] = [];
  let underWay = 0;
  let registered = 0;
  const accepted = Promise.withResolvers<Http1Connection>();
  let served: Socket | undefined;
  const answers = new Answers({
    handler: async (request) => handler(request),
    onError: (error) => void failures.push((error as Error).message),
  });
  t.mock.method(answers, 'began', () => void underWay++);
  t.mock.property(answers, 'ended', () => void underWay--);
  t.mock.property(answers, 'streams', () => {
    registered++;
    return () => void registered--;
  });
  const door = createServer({ allowHalfOpen: true }, (socket) => {
    served = socket;
    socket.on('error', () => {});
    const rounds = { begin: () => undefined };
    accepted.resolve(
      new Http1Connection(socket, { answers, rounds, peers: () => ({}), clock: { now: () => 0 } }),
    );
  }).listen(0, '127.0.0.1');
  await once(door, 'listening');
  const socket = connect({
    port: (door.address() as AddressInfo).port,
    host: '127.0.0.1',
    allowHalfOpen: true,
  });
  t.after(() => {
    socket.destroy();
    door.close();
  });
  let text = '';
  socket.on('data', (bytes) => (text += bytes.toString('latin1')));
  socket.on('error', () => {});
  const ended = once(socket, 'close');
  socket.once('end', () => socket.destroy());
  return {
    socket,
    failures,
    connection: await accepted.promise,
    served: served!,
    underWay: () => underWay,
    registered: () => registered,
    /** The server has so many bytes. */
    read: async (bytes: number): Promise<void> => {
      while (served!.bytesRead < bytes) await new Promise((resolve) => setImmediate(resolve));
    },
    send: (bytes: string) => void socket.write(bytes, 'latin1'),
    /** All that came, once it ends so, or matches. */
    until: async (end: string | RegExp): Promise<string> => {
      while (!(typeof end === 'string' ? text.endsWith(end) : end.test(text))) await once(socket, 'data');
      return text;
    },
    /** All that came until the server ended the connection. */
    end: async (): Promise<string> => {
      await ended;
      return text;
    },
  };
}
type Conversation = Awaited<ReturnType<typeof conversation>>;
const get = (more = '', version = '1.1'): string => `GET /p HTTP/${version}\r\nHost: a\r\n${more}\r\n`;

test('an answer is one head and its body; the connection goes on, or says that it does not', async (t) => {
  const one = await conversation(t, () => ok('hello', { 'content-type': 'a/b', warning: ['1', '2'] }));
  one.send(get());
  const head =
    'HTTP/1.1 200 OK\r\ncontent-type: a/b\r\nwarning: 1\r\nwarning: 2\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n';
  const rest = 'Content-Length: 5\r\n\r\nhello';
  assert.equal(await one.until('hello'), `${head}${rest}`);
  one.send(get('Connection: close\r\n'));
  assert.equal(await one.end(), `${head}${rest}${head}Connection: close\r\n${rest}`);
});

test('HTTP/1.0: kept when it asks for that, and a body without a length ends with the connection', async (t) => {
  const pulled = [Buffer.from('a'), Buffer.from('b'), null];
  const body: PullBody = { pull: () => pulled.shift(), onReady: () => {}, close: () => {} };
  let answered = 0;
  const one = await conversation(t, () =>
    answered++ === 0 ? ok('kept') : { status: 200, headers: {}, body },
  );
  one.send(get('Connection: keep-alive\r\n', '1.0'));
  assert.match(await one.until('kept'), /\r\nConnection: keep-alive\r\n/);
  one.send(get('Connection: keep-alive\r\n', '1.0'));
  const text = await one.end();
  assert.match(text, /\r\nConnection: close\r\n\r\nab$/);
  assert.doesNotMatch(text, /chunked/i);
});

for (const [why, sent, answer] of [
  ['no request', 'nonsense\r\n\r\n', '400 Bad Request'],
  ['half a request', 'GET / HTTP/1.1\r\nHo', '400 Bad Request'],
  [
    'a large head',
    `GET / HTTP/1.1\r\nA: ${'a'.repeat(70_000)}\r\n\r\n`,
    '431 Request Header Fields Too Large',
  ],
] as const)
  test(`${why}: refused in Go's words, and nothing after it is looked at`, async (t) => {
    const one = await conversation(t, () => assert.fail('answered'));
    one.send(sent);
    if (why === 'half a request') one.socket.end();
    else one.send(get());
    assert.equal(
      await one.end(),
      `HTTP/1.1 ${answer}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${answer}`,
    );
  });

test('a body that is none is refused while its request waits for it', async (t) => {
  const rejected = Promise.withResolvers<Error>();
  const one = await conversation(t, async (request) => {
    await request.readBody(100).catch(rejected.resolve);
    return ok('late');
  });
  one.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n');
  assert.match(await one.end(), /^HTTP\/1.1 400 Bad Request\r\n.*\r\n400 Bad Request$/s);
  assert.match((await rejected.promise).message, /closed the connection/);
});

test('an answer that comes before its request is whole: what follows the request is answered', async (t) => {
  const bodies = [
    `Content-Length: 6\r\n\r\nabcdef`,
    'Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n4\r\ncdef\r\n0\r\n\r\n',
  ];
  for (const body of bodies)
    for (let cut = 1; cut < body.length; cut++) {
      const one = await conversation(t, ({ url }) => ok(`${url}.`));
      one.send(`POST /early HTTP/1.1\r\nHost: a\r\n${body.slice(0, cut)}`);
      if (cut > body.indexOf('\r\n\r\n') + 3) await one.until('/early.');
      one.send(body.slice(cut) + get().repeat(3) + get('Connection: close\r\n'));
      assert.equal((await one.end()).split('/p.').length, 5, `${body} cut at ${cut}`);
    }
});

test('what is still to come of a body when its request has its answer is not left out of it: whoever reads it finds none', async (t) => {
  for (const [first, rest] of [
    ['', 'abcdef'],
    ['ab', 'cdef'],
  ] as const)
    for (const reads of ['before the answer', 'after it']) {
      const read = Promise.withResolvers<Buffer>();
      read.promise.catch(() => undefined);
      const came = Promise.withResolvers<void>();
      const one = await conversation(t, (request) => {
        if (request.url === '/p') came.resolve();
        else if (reads === 'after it')
          void came.promise.then(() => request.readBody(100)).then(read.resolve, read.reject);
        else request.readBody(100).then(read.resolve, read.reject);
        return ok(`${request.url}.`);
      });
      one.send(`DELETE /early HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n${first}`);
      await one.until('/early.');
      one.send(rest + get('Connection: close\r\n'));
      await assert.rejects(read.promise, /closed the connection/, `${first} ${reads}`);
      assert.match(await one.end(), /\/p\.$/);
    }
});

test('of whatever is no body nothing is a second request at the same time', async (t) => {
  for (const framing of [`Content-Length: ${3 * get().length}`, 'Transfer-Encoding: chunked'])
    for (const version of ['1.1', '1.0']) {
      const asked: string[] = [];
      const one = await conversation(t, async ({ method }) => {
        asked.push(method);
        await new Promise((resolve) => setImmediate(resolve));
        return ok('.');
      });
      one.send(
        `CONNECT a:1 HTTP/${version}\r\nHost: a\r\nConnection: keep-alive\r\n${framing}\r\n\r\n${get().repeat(3)}`,
      );
      await one.end();
      assert.ok(asked.length <= 1, `${framing}: ${asked}`);
      assert.equal(one.underWay(), 0);
    }
});

test('a large body that is read late, or not at all, does not keep the next request waiting', async (t) => {
  const ways = [async () => {}, (request: HttpRequest) => request.readBody(3 << 20)];
  for (let size = 60_000; size <= 200_000; size += 5_000) {
    const one: Conversation = await conversation(t, async (request) => {
      await one.read(60_000);
      await ways[(size / 5_000) % 2]!(request);
      return ok('.');
    });
    const post = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n${'x'.repeat(size)}`;
    one.send(post + post + get('Connection: close\r\n'));
    assert.equal((await one.end()).split('HTTP/1.1 200').length, 4, `${size} bytes`);
  }
});

test('what is sent behind an ask for another protocol waits for whoever takes over', async (t) => {
  const taken = Promise.withResolvers<string>();
  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const one = await conversation(t, async ({ upgrade }) => {
    asked.resolve();
    await go.promise;
    let text = String(upgrade!.head);
    upgrade!.socket.on('data', (bytes) => {
      text += bytes;
      if (text.endsWith('third')) taken.resolve(text);
    });
    return { status: 101, headers: {}, body: undefined, hijacked: true };
  });
  const first = `${get('Connection: upgrade\r\nUpgrade: x\r\n')}first `;
  one.send(first);
  await asked.promise;
  one.send('second ');
  await one.read(first.length + 'second '.length);
  go.resolve();
  one.send('third');
  assert.equal(await taken.promise, 'first second third');
});

test('who asks for another protocol and does not get it is answered, whatever that is, and let go', async (t) => {
  const pulled = [Buffer.from('a'), Buffer.from('b'), null];
  const body: PullBody = { pull: () => pulled.shift(), onReady: () => {}, close: () => {} };
  for (const [response, end] of [
    [{ ...ok('no'), status: 403 }, /^HTTP\/1.1 403 Forbidden\r\n.*Connection: close\r\n.*\r\n\r\nno$/s],
    [
      { status: 200, headers: {}, body },
      /^HTTP\/1.1 200 OK\r\n.*chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n$/s,
    ],
  ] as const) {
    const one = await conversation(t, () => response);
    one.send(get('Connection: upgrade\r\nUpgrade: h2c\r\n'));
    assert.match(await one.end(), end);
    assert.equal(one.underWay(), 0);
  }
});

test('who asks for another protocol and leaves before there is an answer leaves nothing under way', async (t) => {
  const asked = Promise.withResolvers<HttpRequest>();
  const left = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const body: PullBody = { pull: () => null, onReady: () => {}, close: closed.resolve };
  const one = await conversation(t, async (request) => {
    asked.resolve(request);
    await left.promise;
    return { status: 404, headers: {}, body };
  });
  one.send(get('Connection: upgrade\r\nUpgrade: x\r\n'));
  const { signal } = await asked.promise;
  signal.addEventListener('abort', () => left.resolve());
  one.socket.resetAndDestroy();
  await closed.promise;
  assert.equal(one.underWay(), 0);
});

test('a stream whose client leaves is ended, also one that asked for another protocol', async (t) => {
  for (const more of ['', 'Connection: upgrade\r\nUpgrade: h2c\r\n']) {
    const closed = Promise.withResolvers<void>();
    const pulled: (Buffer | undefined)[] = [Buffer.from('begun')];
    const body: PullBody = { pull: () => pulled.shift(), onReady: () => {}, close: closed.resolve };
    const one = await conversation(t, () => ({ status: 200, headers: {}, body }));
    one.send(get(more));
    await one.until(/begun/);
    one.socket.end();
    await closed.promise;
  }
});

test('a piece of nothing is not the end of a body in chunks', async (t) => {
  const pulled = [Buffer.from('a'), Buffer.alloc(0), Buffer.from('b'), null];
  const body: PullBody = { pull: () => pulled.shift(), onReady: () => {}, close: () => {} };
  const one = await conversation(t, () => ({ status: 200, headers: {}, body }));
  one.send(get('Connection: close\r\n'));
  assert.match(await one.end(), /\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n$/);
});

test('what ended at once is not kept as an answer that goes on', async (t) => {
  const pulled = [Buffer.from('a'), null];
  const body: PullBody = { pull: () => pulled.shift(), onReady: () => {}, close: () => {} };
  const one = await conversation(t, () => ({ status: 200, headers: {}, body }));
  one.send(get('Connection: close\r\n'));
  await one.end();
  assert.equal(one.registered(), 0);
});

test('also on a kept connection a fault gets its words', async (t) => {
  for (const [sent, answer] of [
    ['nonsense\r\n\r\n', '400 Bad Request'],
    [`GET / HTTP/1.1\r\nA: ${'a'.repeat(70_000)}\r\n\r\n`, '431 Request Header Fields Too Large'],
    ['DESCRIBE rtsp://a RTSP/1.0\r\nHost: a\r\n\r\n', '400 Bad Request'],
    ['GET / HTTP/2.0\r\nHost: a\r\n\r\n', '505 HTTP Version Not Supported'],
    ['GET / HTTP/0.9\r\nHost: a\r\n\r\n', '505 HTTP Version Not Supported'],
    ['GET /\r\n\r\n', '505 HTTP Version Not Supported'],
  ] as const) {
    const one = await conversation(t, ({ method }) => ok(`${method}.`));
    one.send(get());
    await one.until('GET.');
    one.send(sent);
    assert.ok((await one.end()).split('GET.')[1]!.startsWith(`HTTP/1.1 ${answer}\r\n`), answer);
  }
});

test('each method of HTTP arrives as itself', async (t) => {
  for (const method of METHODS) {
    const one = await conversation(t, (request) => ok(`${request.method}.`));
    one.send(`${method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    const text = await one.end();
    assert.ok(method === 'HEAD' || text.endsWith(`\r\n${method}.`), `${method}: ${text}`);
  }
});

test('100-continue: said when the body is asked for; not asked for, it is the last of its connection', async (t) => {
  const put = 'PUT /p HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n';
  let reads = true;
  const one = await conversation(t, async (request) =>
    ok(reads ? String(await request.readBody(1_000)) : 'no'),
  );
  one.send(put);
  await one.until('HTTP/1.1 100 Continue\r\n\r\n');
  one.send('abc');
  await one.until('abc');
  reads = false;
  one.send(put);
  assert.match(await one.end(), /Connection: close\r\nContent-Length: 2\r\n\r\nno$/);
  for (const expect of ['more', '100-continued', 'no-100-continue']) {
    const other = await conversation(t, () => ok('yes'));
    other.send(get(`Expect: ${expect}\r\n`));
    assert.match(await other.end(), /^HTTP\/1.1 417 Expectation Failed\r\n/);
  }
});

test('100-continue is looked for as in Go: in a list, said twice, or as nothing', async (t) => {
  const wholeBody = async (request: HttpRequest) => ok(`${await request.readBody(1_000)}.`);
  for (const [expect, isTold] of [
    ['Expect: 100-Continue\r\nExpect: 100-continue\r\n', true],
    ['Expect: x, 100-continue\r\n', true],
    ['Expect:\r\n', false],
  ] as const) {
    const one = await conversation(t, wholeBody);
    one.send(`PUT /p HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n${expect}\r\n`);
    if (isTold) await one.until('HTTP/1.1 100 Continue\r\n\r\n');
    one.send('abc');
    assert.match(await one.until('abc.'), /HTTP\/1.1 200 OK\r\n/);
  }
});

test('what would be another header ends the connection: nothing of it is sent', async (t) => {
  for (const headers of [{ a: 'b\r\nc: d' }, { 'a\r\nb': 'c' }, { 'a b': 'c' }]) {
    const one = await conversation(t, () => ok('x', headers));
    one.send(get());
    assert.equal(await one.end(), '');
    assert.match(one.failures.join(), /Invalid character|valid HTTP token/);
  }
});

test('of a body that comes as it is had nobody says how long it is: what its answer says of that is not passed on', async (t) => {
  const pulled = [Buffer.from('ab'), null];
  const body: PullBody = { pull: () => pulled.shift(), onReady: () => {}, close: () => {} };
  const one = await conversation(t, () => ({ status: 200, headers: { 'content-length': '3' }, body }));
  one.send(get('Connection: close\r\n'));
  const text = await one.end();
  assert.match(text, /\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n$/);
  assert.doesNotMatch(text, /length/i);
});

test('HEAD, 204 and 304 have no body, whatever the handler says', async (t) => {
  const statuses = [200, 204, 304];
  const one = await conversation(t, ({ method }) => ({
    ...ok('body'),
    status: statuses.shift()!,
    headers: { of: method },
  }));
  one.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.match(await one.until('\r\n\r\n'), /^HTTP\/1.1 200 OK\r\n.*Content-Length: 4\r\n\r\n$/s);
  one.send(get() + get('Connection: close\r\n'));
  const [, , no, unchanged] = (await one.end()).split('HTTP/1.1 ');
  assert.match(no!, /^204 No Content\r\n(?!.*length).*\r\n\r\n$/is);
  assert.match(unchanged!, /^304 Not Modified\r\n(?!.*length).*\r\n\r\n$/is);
});

test('who takes too long is let go: with its head, with its body, and between requests', async (t) => {
  const later = (ms: number): number => performance.now() + ms;
  const silent = await conversation(t, () => ok('x'));
  silent.connection.look(later(31_000));
  silent.connection.look(later(33_000));
  assert.match(await silent.end(), /^HTTP\/1.1 408 Request Timeout\r\n/);

  const kept = await conversation(t, () => ok('x.'));
  kept.send(get());
  await kept.until('x.');
  kept.connection.look(later(89_000));
  assert.ok(kept.connection.isIdle);
  kept.connection.look(later(91_000));
  assert.match(await kept.end(), /x\.$/);

  const deaf = await conversation(t, () => ok('x.'));
  // As when nothing more goes into the kernel's buffer, not even that TLS ends.
  t.mock.method(deaf.served, '_final', () => {});
  deaf.send(get());
  await deaf.until('x.');
  deaf.connection.look(later(91_000));
  deaf.connection.look(later(96_000));
  assert.match(await deaf.end(), /x\.$/);

  const begun = Promise.withResolvers<void>();
  const slow = await conversation(t, async (request) => {
    begun.resolve();
    return ok(String(await request.readBody(1_000)));
  });
  slow.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx');
  await begun.promise;
  slow.connection.look(later(89_000));
  assert.ok(!slow.connection.isIdle);
  slow.connection.look(later(91_000));
  assert.match(await slow.end(), /^HTTP\/1.1 408 Request Timeout\r\n/);
});

test('several headers of a name are one list, but for those that are said once; no name is a way into objects', async (t) => {
  const seen = Promise.withResolvers<HttpRequest['headers']>();
  const one = await conversation(t, ({ headers }) => {
    seen.resolve(headers);
    return ok('.');
  });
  one.send(
    get(
      'X-A: 1\r\nx-a: 2\r\nCookie: c=1\r\ncookie: d=2\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n__proto__: x\r\n',
    ),
  );
  const headers = await seen.promise;
  assert.deepEqual(
    { ...headers },
    JSON.parse('{"host":"a","x-a":"1, 2","cookie":"c=1; d=2","authorization":"Bearer a","__proto__":"x"}'),
  );
  assert.equal(headers['constructor'], undefined);
});
