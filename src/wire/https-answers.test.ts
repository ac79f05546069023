// Answers of servers that are no models, or mean harm: what is taken for one, what is refused, and which connection is used again.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createServer } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createCertificateAuthority, issueCertificate } from '../crypto/certificates.ts';
import { AnswerReader } from './answer-reader.ts';
import { type HttpsAnswer, HttpsClient, type HttpsQuestion } from './https-client.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
setFlagsFromString('--no-expose-gc');

const times = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
const authority = createCertificateAuthority({ commonName: 'test', ...times });

interface Asked {
  readonly ask: (question?: Partial<HttpsQuestion>) => Promise<HttpsAnswer>;
  /** How many connections there were so far. */
  readonly opened: () => number;
  readonly sockets: Socket[];
  /** What came, as one text. */
  readonly said: () => string;
}

/** `answer` is called with each question's number on its connection, from 1 on. */
async function serving(
  t: TestContext,
  answer: (socket: Socket, question: number) => void,
  maxAnswerBytes = 1_000,
): Promise<Asked> {
  const { certificatePem: cert, privateKeyPem: key } = await issueCertificate(await authority, {
    commonName: 'server',
    usages: ['server'],
    ips: ['127.0.0.1'],
    ...times,
  });
  const sockets: Socket[] = [];
  let said = '';
  const server = createServer({ cert, key }, (socket) => {
    sockets.push(socket);
    let questions = 0;
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      said += bytes.toString('latin1');
      answer(socket, ++questions);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new HttpsClient({ maxAnswerBytes, maxConnections: 2, maxAllConnections: 2 });
  t.after(() => {
    client.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const target = { host: '127.0.0.1', port, ca: (await authority).certificatePem };
  const signal = AbortSignal.timeout(60_000);
  const usual = { method: 'POST', path: '/', headers: {}, body: 'x', signal };
  return {
    ask: (question = {}) => client.ask(target, { ...usual, ...question }),
    opened: () => sockets.length,
    sockets,
    said: () => said,
  };
}

const ok = 'HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nETag: "1"\r\nContent-Length: 5\r\n\r\nhello';
const processing = 'HTTP/1.1 102 Processing\r\nX-A: b\r\n\r\n';
const manyHeaders = Array.from({ length: 100 }, (_, i) => `X-${i}: ${i}\r\n`).join('');

const taken: readonly (readonly [what: string, answer: string, isKept: boolean])[] = [
  ['as usual', ok, true],
  ['after five that inform', processing.repeat(5) + ok, true],
  ['behind an invitation to go on', `HTTP/1.1 100 Continue\r\n\r\n${ok}`, true],
  ['in chunks, with trailers', 'chunked', true],
  ['behind many headers', ok.replace('Content-Type', `${manyHeaders}Content-Type`), true],
  ['that ends with the connection', ok.replace('Content-Length: 5\r\n', ''), false],
  ['of HTTP/1.0', ok.replace('1.1', '1.0'), false],
  ['that is the last', ok.replace('ETag', 'Connection: close\r\nETag'), false],
  ['of a server that will not wait', ok.replace('ETag', 'Keep-Alive: timeout=1\r\nETag'), false],
  ['of a server that waits', ok.replace('ETag', 'Keep-Alive: timeout=5\r\nETag'), true],
  ['with another one behind it', `${ok}HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nbad`, false],
  ['with something else behind it', `${ok}and more`, false],
  ['with the beginning of another one behind it', `${ok}HTTP/1.1 2`, false],
];
const chunked =
  'HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nETag: "1"\r\nTransfer-Encoding: chunked\r\n\r\n' +
  '2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nContent-Type: c/d\r\n\r\n';
const whole = 1 << 20;

// A piece that comes behind an answer may come behind the next question, too: then nobody can tell.
for (const [what, text, isKept] of taken)
  for (const piece of what.endsWith('behind it') ? [whole] : [whole, 1])
    test(`an answer ${what} is taken, ${piece === 1 ? 'a byte at a time' : 'in one piece'}`, async (t) => {
      const all = text === 'chunked' ? chunked : text;
      const { ask, opened } = await serving(t, async (socket) => {
        for (let at = 0; at < all.length; at += piece) socket.write(all.slice(at, at + piece));
        if (!all.includes('ontent-Length') && !all.includes('chunked')) socket.end();
      });
      for (const _ of [1, 2]) {
        const { status, contentType, etag, body } = await ask();
        assert.deepEqual([status, contentType, etag, String(body)], [200, 'a/b', '"1"', 'hello']);
      }
      assert.equal(opened(), isKept ? 1 : 2);
    });

const tooLong = 'net/http: server response headers exceeded 65536 bytes; aborted';
const refused: readonly (readonly [what: string, answer: string, said: string | RegExp])[] = [
  ['six that inform', processing.repeat(6) + ok, 'net/http: too many 1xx informational responses'],
  ['empty lines', '\r\n'.repeat(40_000), tooLong],
  ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', 'unexpected status code 101'],
  [
    'another protocol by name',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhello',
    'unexpected status code 101',
  ],
  ['a long head', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(80_000)}\r\n\r\n`, 'Parse Error: Header overflow'],
  [
    'a long body',
    `HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n${'x'.repeat(1_001)}`,
    /limit is 1000 bytes$/,
  ],
  ['no HTTP', 'SSH-2.0-OpenSSH_9\r\n', /^Parse Error: Expected HTTP\//],
  ['two lengths', ok.replace('ETag', 'Content-Length: 4\r\nETag'), /^Parse Error: /],
  ['an end before its own', ok.slice(0, -1), 'EOF'],
  ['nothing', '', 'EOF'],
];

for (const [what, text, said] of refused)
  test(`an answer that is ${what} is none, and its connection ends`, async (t) => {
    const { ask, opened, sockets } = await serving(t, (socket) => void socket.end(text));
    const closed = async (): Promise<void> => {
      for (const socket of sockets) if (!socket.closed) await once(socket, 'close');
    };
    for (const _ of [1, 2]) {
      await assert.rejects(ask(), { message: said });
      await closed();
    }
    assert.equal(opened(), 2);
  });

test('what a server says while nobody asks is no answer to who asks next', async (t) => {
  const { ask, sockets, opened } = await serving(t, (socket) => void socket.write(ok));
  await ask();
  sockets[0]!.write(ok.replace('hello', 'wrong'));
  await once(sockets[0]!, 'close');
  assert.equal(String((await ask()).body), 'hello');
  assert.equal(opened(), 2);
});

test('a question to a kept connection that its server ends is asked once more, of a new one not', async (t) => {
  const { ask, opened } = await serving(t, (socket, question) => {
    if (question === 1) socket.write(ok);
    else socket.destroy();
  });
  await ask();
  assert.equal(String((await ask()).body), 'hello');
  assert.equal(opened(), 2);
  const never = await serving(t, (socket) => void socket.destroy());
  await assert.rejects(never.ask(), { message: 'EOF' });
  assert.equal(never.opened(), 1);
});

test('an answer that has begun is not asked for again', async (t) => {
  const { ask, opened } = await serving(t, (socket, question) => {
    if (question === 1) socket.write(ok);
    else socket.end(ok.slice(0, -1));
  });
  await ask();
  await assert.rejects(ask(), { message: 'EOF' });
  assert.equal(opened(), 1);
});

test('behind a question that was answered before it was taken no others gather', async (t) => {
  const { ask, opened } = await serving(t, (socket, piece) => {
    if (piece > 1) return;
    socket.pause();
    socket.write(ok);
  });
  const body = Buffer.alloc(32 << 20);
  for (const _ of [1, 2]) assert.equal(String((await ask({ body })).body), 'hello');
  assert.equal(opened(), 2);
});

test('an answer that comes byte by byte as chunks takes the room of its bytes', () => {
  const size = 1 << 19;
  const held = (): number => {
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const reader = new AnswerReader({ headBytes: 1_000, bodyBytes: size });
  reader.begin();
  const before = held();
  reader.read(Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'));
  const chunks = Buffer.from('1\r\nx\r\n'.repeat(1 << 12));
  for (let at = 0; at < size; at += 1 << 12) assert.equal(reader.read(chunks), undefined);
  const grown = held() - before;
  assert.ok(grown < 8 * size, `${grown}`);
  assert.equal(String(reader.read(Buffer.from('0\r\n\r\n'))?.body), 'x'.repeat(size));
  reader.close();
});

test('a question is one, whatever its path and headers say', async (t) => {
  const { ask, opened, said } = await serving(t, (socket) => void socket.write(ok));
  const split = 'a\r\n\r\nDELETE / HTTP/1.1\r\nx: ';
  await assert.rejects(ask({ path: `/${split}` }), /unescaped characters/);
  await assert.rejects(ask({ headers: { x: split } }), /Invalid character in header content/);
  await assert.rejects(ask({ headers: { [split]: 'x' } }), /must be a valid HTTP token/);
  await assert.rejects(ask({ headers: { x: 'ä→' } }), /Invalid character in header content/);
  assert.equal(opened(), 0);
  await ask({ headers: { x: ['1', '2'] }, body: 'ü' });
  await ask({ body: Buffer.from('ü'), headers: { host: 'h' } });
  const [first = '', second = ''] = said().split(/(?=POST)/);
  assert.match(
    first,
    /^POST \/ HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\nx: 1\r\nx: 2\r\ncontent-length: 2\r\n\r\nÃ¼$/,
  );
  assert.match(second, /^POST \/ HTTP\/1\.1\r\nhost: h\r\ncontent-length: 2\r\n\r\nÃ¼$/);
});
