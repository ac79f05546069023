// Frames from a peer that cuts them as it likes: a node that is broken, or means ill.
import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { SpdyConnection } from './spdy.ts';

class Wire extends Duplex {
  readonly sent: Buffer[] = [];
  /** A peer that reads nothing lets what is sent to it wait. */
  reads = true;
  override _read(): void {}
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.sent.push(chunk);
    if (this.reads) done();
  }
}

interface Seen {
  readonly wire: Wire;
  readonly connection: SpdyConnection;
  readonly data: Buffer[];
  ended: number;
}

async function opened(): Promise<Seen> {
  const wire = new Wire();
  const connection = new SpdyConnection(wire, Buffer.alloc(0));
  const seen: Seen = { wire, connection, data: [], ended: 0 };
  const stream = connection.createStream(
    { streamtype: 'stdout' },
    { onData: (data) => void seen.data.push(Buffer.from(data)), onEnd: () => void seen.ended++ },
  );
  wire.emit('data', synReply(1));
  await stream;
  return seen;
}

function dataFrame(stream: number, payload: Buffer, fin = false): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(stream, 0);
  head.writeUInt32BE(payload.length, 4);
  head[4] = fin ? 1 : 0;
  return Buffer.concat([head, payload]);
}
function controlFrame(type: number, payload: Buffer, length = payload.length): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt16BE(0x8003, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt32BE(length, 4);
  return Buffer.concat([head, payload]);
}
const synReply = (stream: number): Buffer => controlFrame(2, Buffer.from([0, 0, 0, stream]));
const reset = (stream: number): Buffer => controlFrame(3, Buffer.from([0, 0, 0, stream, 0, 0, 0, 3]));
const ping = (id: number): Buffer => controlFrame(6, Buffer.from([0, 0, 0, id]));

test('frames are read wherever they are cut', async () => {
  const bytes = Buffer.concat([
    ping(2),
    dataFrame(1, Buffer.from('hello ')),
    dataFrame(1, Buffer.alloc(0)),
    ping(4),
    dataFrame(1, Buffer.from('world'), true),
  ]);
  for (const size of [1, 2, 3, 7, 8, 9, 13, bytes.length]) {
    const { wire, data, ...seen } = await opened();
    const before = wire.sent.length;
    for (let at = 0; at < bytes.length; at += size) wire.emit('data', bytes.subarray(at, at + size));
    assert.equal(Buffer.concat(data).toString(), 'hello world', `in pieces of ${size}`);
    assert.deepEqual(wire.sent.slice(before), [ping(2), ping(4)]);
    seen.connection.close();
  }
});

test('a stream is there when the peer has answered it: what is written before would be thrown away', async () => {
  const wire = new Wire();
  const connection = new SpdyConnection(wire, Buffer.alloc(0));
  const nobody = { onData: () => undefined, onEnd: () => undefined };
  const order: string[] = [];
  const first = connection.createStream({ streamtype: 'stdin' }, nobody).then(() => order.push('opened'));
  for (let i = 0; i < 100; i++) await new Promise((resolve) => setImmediate(resolve));
  order.push('answered');
  wire.emit('data', synReply(1));
  await first;
  assert.deepEqual(order, ['answered', 'opened']);

  const refused = connection.createStream({ streamtype: 'stdout' }, nobody);
  wire.emit('data', reset(3));
  await assert.rejects(refused, /the SPDY stream 3 was not taken/);
  const cut = connection.createStream({ streamtype: 'stderr' }, nobody);
  connection.close();
  await assert.rejects(cut, /closed|not taken/);
});

test('the end of a stream is told once, after its data', async () => {
  const seen = await opened();
  seen.wire.emit('data', dataFrame(1, Buffer.from('a'), true));
  seen.wire.emit('data', dataFrame(1, Buffer.from('late'), true));
  assert.deepEqual([Buffer.concat(seen.data).toString(), seen.ended], ['a', 1]);
});

test('a frame of megabytes that comes byte by byte is passed on, not kept', async () => {
  const { wire, data } = await opened();
  const head = dataFrame(1, Buffer.alloc(0));
  head.writeUIntBE(3 << 20, 5, 3);
  wire.emit('data', head);
  const byte = Buffer.from('x');
  for (let i = 0; i < 1_000; i++) wire.emit('data', byte);
  assert.equal(Buffer.concat(data).length, 1_000);
});

test('a control frame of over 64 KiB ends the connection', async () => {
  const { wire, connection } = await opened();
  wire.emit('data', controlFrame(4, Buffer.alloc(0), 64 * 1024 + 1));
  assert.ok(connection.closed);
});

test('pings of a peer that reads no answer end the connection', async () => {
  const { wire, connection } = await opened();
  wire.reads = false;
  const many = Buffer.concat(Array.from({ length: 100 }, () => ping(2)));
  let sent = 0;
  for (; !connection.closed && sent < 10_000; sent++) wire.emit('data', many);
  assert.ok(connection.closed);
  assert.ok(wire.writableLength < 2 << 20);
});
