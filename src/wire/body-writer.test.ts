// Bodies go out as fast as the client reads; one that does not read at all is cut.
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { writeGzip, writeParts, writePull } from './body-writer.ts';
import type { PullBody } from './http-message.ts';

/** Takes what comes, or holds on to the first chunk forever. */
class Client extends Writable {
  readonly chunks: Buffer[] = [];
  readonly #reads: boolean;
  constructor(reads: boolean) {
    super({ highWaterMark: 1 });
    this.#reads = reads;
  }
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.chunks.push(chunk);
    if (this.#reads) setImmediate(done);
  }
}
const ended = (client: Client): Promise<void> => new Promise((resolve) => void client.once('close', resolve));
const parts = Array.from({ length: 1000 }, (_, i) => Buffer.alloc(1000, i % 256));

test('parts and gzip arrive whole', async () => {
  const plain = new Client(true);
  writeParts(plain, parts);
  await ended(plain);
  assert.deepEqual(Buffer.concat(plain.chunks), Buffer.concat(parts));
  const packed = new Client(true);
  writeGzip(packed, parts);
  await ended(packed);
  assert.deepEqual(gunzipSync(Buffer.concat(packed.chunks)), Buffer.concat(parts));
});

test('what is kept is compressed once: the next who asks has it at once', async () => {
  const document = Buffer.from('{"openapi":"3.0.0"}'.repeat(20_000));
  const first = new Client(true);
  writeGzip(first, [document], true);
  assert.equal(first.chunks.length, 0);
  await ended(first);
  const second = new Client(true);
  writeGzip(second, [document], true);
  assert.equal(second.chunks.length, 1, 'no thread was asked');
  await ended(second);
  for (const { chunks } of [first, second]) assert.deepEqual(gunzipSync(Buffer.concat(chunks)), document);
});

test('many small parts are written together, a large one in pieces', async () => {
  const client = new Client(true);
  const large = Buffer.alloc(900_000, 'x');
  const given = [...parts.slice(0, 100), large, ...parts.slice(0, 3)];
  writeParts(client, given);
  await ended(client);
  assert.deepEqual(Buffer.concat(client.chunks), Buffer.concat(given));
  assert.ok(client.chunks.length < 8, `${client.chunks.length} writes`);
  for (const { length } of client.chunks) assert.ok(length <= 256 * 1024, `${length} bytes`);
  const asGiven = client.chunks.filter(({ buffer }) => buffer === large.buffer);
  assert.equal(Buffer.concat(asGiven).length, large.length, 'it was copied');
});

test('a client that reads nothing is cut after a minute', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const write of [writeParts]) {
    const client = new Client(false);
    write(client, parts);
    t.mock.timers.tick(59_000);
    assert.equal(client.destroyed, false);
    t.mock.timers.tick(2000);
    assert.equal(client.destroyed, true);
  }
});

test('a stream that says how long it waits is closed with its client; one that does not waits', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const body = (stallMs?: number): PullBody & { closed: boolean } => ({
    closed: false,
    pull: () => Buffer.alloc(1000),
    onReady() {},
    close() {
      this.closed = true;
    },
    ...(stallMs === undefined ? {} : { stallMs }),
  });
  const watched = new Client(false);
  const watch = body(1000);
  writePull(watched, watch, () => {});
  const logged = new Client(false);
  const log = body();
  writePull(logged, log, () => {});
  const over = ended(watched);
  t.mock.timers.tick(3_600_000);
  await over;
  assert.equal(watch.closed, true);
  assert.equal(logged.destroyed, false);
  assert.equal(log.closed, false);
  logged.destroy();
});
