// Answers of servers that are no models: a probe and the API server's proxy take what Go's net/http takes.
import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { readTextOf, requestBackend } from './backend.ts';
import { isPullBody } from './http-message.ts';
import { probeHttp } from './probe-http.ts';

async function answering(t: TestContext, text: string): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(Buffer.from(text, 'latin1')));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const probe = (port: number): ReturnType<typeof probeHttp> =>
  probeHttp(
    {
      scheme: 'HTTP',
      host: '127.0.0.1',
      port,
      path: '/',
      headers: [],
      userAgent: 'kube-probe/1.36',
      timeoutMs: 30_000,
    },
    new AbortController().signal,
  );

const rows: readonly (readonly [what: string, answer: string])[] = [
  ['lines end in LF alone (busybox httpd)', 'HTTP/1.0 200 OK\nContent-Type: text/plain\n\nhello'],
  ['lines end in LF alone, with a length', 'HTTP/1.1 200 OK\nContent-Length: 5\n\nhello'],
  ['no reason, no headers', 'HTTP/1.0 200\r\n\r\nhello'],
  ['odd bytes in a value', 'HTTP/1.1 200 OK\r\nX-A: a\x01b\xe9\r\nContent-Length: 5\r\n\r\nhello'],
  ['a folded header', 'HTTP/1.1 200 OK\r\nX-A: a\r\n b\r\nContent-Length: 5\r\n\r\nhello'],
  [
    'a length beside chunks',
    'HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  ],
  ['bytes after the end', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello world'],
  ['large headers', `HTTP/1.1 200 OK\r\nX-B: ${'a'.repeat(40_000)}\r\nContent-Length: 5\r\n\r\nhello`],
];

for (const [what, answer] of rows) {
  test(`a probe and the proxy accept an answer with ${what}`, async (t) => {
    const port = await answering(t, answer);
    const probed = await probe(port);
    assert.deepEqual(probed, { status: 200, body: 'hello', location: '' });
    const response = await requestBackend(
      { host: '127.0.0.1', port },
      { method: 'GET', path: '/', headers: { host: 'x' } },
    );
    assert.equal(response.status, 200);
    for (const value of Object.values(response.headers))
      assert.match(String(value), /^[\t\x20-\x7e\x80-\xff]*$/);
    assert.ok(isPullBody(response.body));
    assert.equal(await readTextOf(response.body, 1000), 'hello');
  });
}

test('an answer that breaks off is a failed probe, as upstream', async (t) => {
  const port = await answering(t, 'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello');
  const probed = await probe(port);
  assert.deepEqual(probed, { status: 0, body: '', location: '', error: 'unexpected EOF' });
});

test('an answer that switches to a protocol nobody asked for ends a probe, and a proxied request', async (t) => {
  const port = await answering(
    t,
    'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhello',
  );
  assert.deepEqual(await probe(port), { status: 101, body: '', location: '' });
  await assert.rejects(
    requestBackend({ host: '127.0.0.1', port }, { method: 'GET', path: '/', headers: { host: 'x' } }),
    { message: 'backend tried to switch protocol "x" when "" was requested' },
  );
});

for (const code of ['000', '099'])
  test(`an answer with the status ${code} is none`, async (t) => {
    const port = await answering(t, `HTTP/1.1 ${code} X\r\nContent-Length: 0\r\n\r\n`);
    const asked = requestBackend(
      { host: '127.0.0.1', port },
      { method: 'GET', path: '/', headers: { host: 'x' } },
    );
    await assert.rejects(asked, /malformed HTTP status code/);
  });
