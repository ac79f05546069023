// Node's own parser tells what it is believed to tell: it is not of Node's public interface.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Http1Parser, type RequestHead } from './http1-parser.ts';

/** What is told of `bytes`, given in pieces of `size`. */
function told(text: string, { size = text.length, handsOver = false, maxHeaderBytes = 1_000 } = {}) {
  const events: string[] = [];
  const heads: RequestHead[] = [];
  const parser = new Http1Parser(
    {
      head: (head) => {
        heads.push(head);
        events.push(`${head.method} ${head.url}`);
        return handsOver;
      },
      body: (bytes) => events.push(bytes.toString('latin1')),
      complete: () => events.push('.'),
    },
    maxHeaderBytes,
  );
  const bytes = Buffer.from(text, 'latin1');
  let rest: ReturnType<Http1Parser['read']>;
  for (let at = 0; at < bytes.length && rest === undefined; at += size)
    rest = parser.read(bytes.subarray(at, at + size));
  const end = rest === undefined ? parser.finish() : undefined;
  parser.close();
  return { events, heads, rest, end };
}
const codeOf = (error: unknown): unknown => (error as { code?: string }).code;

test('heads, bodies and ends, whole and in pieces; a name and a value for each line', () => {
  const text = 'POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /c HTTP/1.0\r\n\r\n';
  const { events, heads, end } = told(text);
  assert.deepEqual(events, ['POST /a?b', 'abc', '.', 'GET /c', '.']);
  assert.deepEqual(heads[0]!.rawHeaders, ['Host', 'x', 'Content-Length', '3']);
  assert.deepEqual([heads[0]!.isHttp10, heads[0]!.keepsAlive], [false, true]);
  assert.deepEqual([heads[1]!.isHttp10, heads[1]!.keepsAlive], [true, false]);
  assert.equal(end, undefined);
  const pieces = told(text, { size: 1 });
  assert.deepEqual(pieces.events, ['POST /a?b', 'a', 'b', 'c', '.', 'GET /c', '.']);
  assert.deepEqual(pieces.heads, heads);
});

test('many headers, and what is said behind the last chunk, are of their own request', () => {
  const many = Array.from({ length: 70 }, (_, i) => `H${i}: ${i}\r\n`).join('');
  const chunks = '3\r\nabc\r\n0\r\nTrailer: 1\r\n\r\n';
  const post = `POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n${many}\r\n${chunks}`;
  const { events, heads } = told(`${post}GET /b HTTP/1.1\r\nHost: x\r\n\r\n`);
  assert.deepEqual(events, ['POST /a', 'abc', '.', 'GET /b', '.']);
  assert.equal(heads[0]!.rawHeaders.length, 2 * 72);
  assert.deepEqual(heads[0]!.rawHeaders.slice(-2), ['H69', '69']);
  assert.deepEqual(heads[1]!.rawHeaders, ['Host', 'x']);
});

test('who may have another protocol gets what follows; who may not goes on', () => {
  const ask = 'GET /a HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: y\r\n\r\n';
  assert.equal(told(`${ask}other`, { handsOver: true }).rest?.toString(), 'other');
  const { events, heads } = told(`${ask}CONNECT z:1 HTTP/1.1\r\nHost: x\r\n\r\n${ask}`);
  assert.deepEqual(events, ['GET /a', '.', 'CONNECT z:1', '.', 'GET /a', '.']);
  assert.ok(heads.every(({ asksForUpgrade }) => asksForUpgrade));
});

test('behind an ask in vain all is as behind any other request, however it is cut', () => {
  const asks = 'HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: y\r\n';
  const chunks = '3\r\nabc\r\n0\r\n\r\n';
  const text = [
    `GET /a ${asks}\r\n`,
    `POST /b ${asks}Content-Length: 3\r\n\r\nabc`,
    `POST /c ${asks}Transfer-Encoding: chunked\r\n\r\n${chunks}`,
    'GET /d HTTP/1.1\r\nHost: x\r\n\r\n',
  ].join('');
  const heads = ['GET /a', '.', 'POST /b', '.', 'POST /c', '.', 'GET /d', '.'];
  for (let size = 1; size <= text.length; size++) {
    const { events, rest } = told(text, { size });
    assert.equal(rest, undefined);
    const bodies = events.filter((event) => /^[abc]+$/.test(event)).join('');
    assert.deepEqual(
      [events.filter((event) => heads.includes(event)), bodies],
      [heads, 'abcabc'],
      `by ${size}`,
    );
  }
  for (const fault of [`GET /a ${asks}\r\n0\r\n`, `POST /c ${asks}Transfer-Encoding: chunked\r\n\r\nzz\r\n`])
    for (let size = 1; size <= fault.length; size++)
      assert.ok(told(fault, { size }).rest instanceof Error, `${fault} by ${size}`);
});

test('what is no request is an error, and so is half of one', () => {
  for (const [text, code] of [
    ['GET / HTTP/1.1\r\nHost x\r\n\r\n', 'HPE_INVALID_HEADER_TOKEN'],
    ['GET / HTTP/1.1\r\nHost: x\n\r\n', 'HPE_CR_EXPECTED'],
    [`GET / HTTP/1.1\r\nHost: ${'x'.repeat(1_000)}\r\n\r\n`, 'HPE_HEADER_OVERFLOW'],
    [`GET / HTTP/1.1\r\n${'a:\r\n'.repeat(250)}`, 'HPE_HEADER_OVERFLOW'],
    [`GET / HTTP/1.1\r\nHost:${' '.repeat(1_000)}`, 'HPE_HEADER_OVERFLOW'],
    ['\r\n'.repeat(501), 'HPE_HEADER_OVERFLOW'],
    ['POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 'HPE_UNEXPECTED_CONTENT_LENGTH'],
    [
      'POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      'HPE_INVALID_TRANSFER_ENCODING',
    ],
    ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'HPE_PAUSED_H2_UPGRADE'],
  ] as const)
    assert.equal(codeOf(told(text).rest), code, text);
  const many = `GET / HTTP/1.1\r\n${'a:\r\n'.repeat(1_100)}\r\n`;
  const { rest, events } = told(many, { maxHeaderBytes: 1 << 20 });
  assert.deepEqual([codeOf(rest), events], ['HPE_HEADER_OVERFLOW', ['.']]);
  assert.equal(codeOf(told('GET / HTTP/1.1\r\nHost').end), 'HPE_INVALID_EOF_STATE');
});

test('it can not be called by what it tells: it would read what is not its own', () => {
  const parser: Http1Parser = new Http1Parser(
    {
      head: () => false,
      body: () => assert.throws(() => parser.read(Buffer.from('x')), /called by what it tells/),
      complete: () => assert.throws(() => parser.read(Buffer.from('GET')), /called by what it tells/),
    },
    1_000,
  );
  assert.equal(
    parser.read(Buffer.from('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx')),
    undefined,
  );
  parser.close();
});
