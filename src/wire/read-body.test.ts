// Bodies come in pieces of the client's choosing: they cost what they weigh, and nobody sends one for ever.
import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { BodyTooLargeError, type HttpRequest } from './http-message.ts';
import { createHttpServer } from './http-server.ts';
import { readBody } from './read-body.ts';
import { listening } from './testing/listening-server.ts';

const piecesOf = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );

test('a body is whole again, whatever its pieces', async () => {
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 251));
  for (const size of [1, 7, 4095, 4096, 16_384, 100_000]) {
    const mixed = [...piecesOf(bytes.subarray(0, 50_000), size), ...piecesOf(bytes.subarray(50_000), 5000)];
    const read = await readBody(Readable.from(mixed), 64 * bytes.length, undefined);
    assert.ok(read.equals(bytes), `pieces of ${size}`);
  }
});

test('a body whose sender has left before it is read is none, and is not waited for', async () => {
  const left = new Readable({ read() {} });
  left.push('{');
  const closed = new Promise((done) => left.once('close', done));
  left.destroy();
  await closed;
  await assert.rejects(readBody(left, 100, undefined), /the client closed the connection/);
});

test('a body of a hundred thousand pieces is refused as the long one that it costs', async () => {
  const refused = readBody(Readable.from(piecesOf(Buffer.alloc(100_000), 1)), 3 << 20, undefined);
  await assert.rejects(refused, BodyTooLargeError);
});

test('a body as long as it may be is taken though packets end in the middle of its pieces, and one byte more is not', async () => {
  const piecesUpTo = (length: number): Buffer[] =>
    piecesOf(Buffer.alloc(length), 16_384).flatMap((piece) => [piece.subarray(0, -9), piece.subarray(-9)]);
  const read = await readBody(Readable.from(piecesUpTo(3 << 20)), 3 << 20, undefined);
  assert.equal(read.length, 3 << 20);
  const longer = readBody(Readable.from(piecesUpTo((3 << 20) + 1)), 3 << 20, undefined);
  await assert.rejects(longer, BodyTooLargeError);
});

test('a client that goes on sending what was refused is let go after its answer', async (t) => {
  const handler = async (request: HttpRequest) => {
    await assert.rejects(request.readBody(1000), BodyTooLargeError);
    return { status: 413, headers: {}, body: Buffer.from('too large') };
  };
  const server = createHttpServer({ handler, tls: undefined });
  t.after(() => server.close(0));
  const { port } = await server.listen(0, '127.0.0.1');
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (bytes) => (answer += bytes));
  socket.on('error', () => {});
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  const send = (): void => {
    if (socket.writable) socket.write('1\r\na\r\n'.repeat(1000), () => setImmediate(send));
  };
  send();
  // Bytes that nobody read make it a reset, after the answer.
  await new Promise((resolve) => socket.once('close', resolve));
  assert.match(answer, /^HTTP\/1.1 413 .*too large$/s);
});

/** Of HTTP/2, as bytes: Node's client ends the body of what it resets, and now and then that goes out first. */
const frames = { data: 0, headers: 1, reset: 3, settings: 4 } as const;
const endOfHeaders = 4;
function frame(type: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(type === frames.headers ? endOfHeaders : 0, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
/** DELETE of / by https from the authority `a`. */
const deletion = Buffer.from('\x87\x84\x02\x06DELETE\x01\x01a', 'latin1');

test('a body that its client breaks off is no whole one, over HTTP/2 too: a deletion would lose its preconditions', async (t) => {
  const ends: PromiseWithResolvers<string>[] = [Promise.withResolvers(), Promise.withResolvers()];
  let asked = 0;
  const { server, port } = await listening({
    handler: async (request) => {
      const end = ends[asked++]!;
      request.readBody(1000).then(
        (body) => end.resolve(`read ${body}`),
        (error: Error) => end.resolve(error.message),
      );
      began.resolve();
      await end.promise;
      return { status: 200, headers: {}, body: Buffer.from('x') };
    },
  });
  let began = Promise.withResolvers<void>();
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  socket.on('error', () => {}).resume();
  t.after(() => {
    socket.destroy();
    return server.close(0);
  });
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(frame(frames.settings, 0, Buffer.alloc(0)));
  for (const [at, piece] of ['', '{"preconditions":'].entries()) {
    began = Promise.withResolvers<void>();
    const stream = 2 * at + 1;
    socket.write(frame(frames.headers, stream, deletion));
    if (piece !== '') socket.write(frame(frames.data, stream, Buffer.from(piece)));
    await began.promise;
    socket.write(frame(frames.reset, stream, Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL])));
  }
  for (const { promise } of ends)
    assert.equal(await promise, 'the client closed the connection before the body ended');
});
