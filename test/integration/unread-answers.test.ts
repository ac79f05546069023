// Whoever does not take the last of an answer is cut, however it was written; who takes it slowly is not.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { mock, test } from 'node:test';
import { writeBytes, writeGzip, writeParts, writePull } from '../../src/wire/body-writer.ts';
import type { PullBody } from '../../src/wire/http-message.ts';

mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });

/** Takes 256 KiB in so many milliseconds; undefined: never. */
class Client extends Writable {
  size = 0;
  readonly #ms: number | undefined;
  constructor(ms?: number) {
    super();
    this.#ms = ms;
  }
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.size += chunk.length;
    if (this.#ms !== undefined) setTimeout(done, this.#ms * Math.ceil(chunk.length / (256 * 1024)));
  }
}

/** Ended after one piece. */
function pulled(stallMs?: number): PullBody {
  let left = 1;
  return {
    pull: () => (left-- > 0 ? Buffer.alloc(1000) : null),
    onReady() {},
    close() {},
    ...(stallMs === undefined ? {} : { stallMs }),
  };
}

const bytes = Buffer.alloc(1000);
const ways: Readonly<Record<string, (out: Writable) => unknown>> = {
  'a small answer': (out) => writeBytes(out, bytes),
  'a large one of one buffer': (out) => writeBytes(out, Buffer.alloc(900_000)),
  'one of two buffers': (out) => writeParts(out, [bytes, bytes]),
  'a list': (out) => writePull(out, pulled(60_000), () => {}),
};
for (const [name, write] of Object.entries(ways))
  test(`who does not take the end of ${name} is cut after one to one and a half minutes`, async () => {
    const client = new Client();
    write(client);
    mock.timers.tick(59_000);
    assert.equal(client.destroyed, false);
    const closed = once(client, 'close');
    mock.timers.tick(32_000);
    assert.equal(client.destroyed, true);
    await closed;
  });

test('who does not take the end of a compressed answer is cut', async () => {
  const client = new Client();
  writeGzip(client, [bytes]);
  while (!client.writableEnded) await new Promise((resolve) => setImmediate(resolve));
  const closed = once(client, 'close');
  mock.timers.tick(91_000);
  assert.equal(client.destroyed, true);
  await closed;
});

test('what may last as long as its reader likes ends when it has read, however late', () => {
  const client = new Client();
  writePull(client, pulled(), () => {});
  assert.equal(client.writableEnded, true);
  mock.timers.tick(3_600_000);
  assert.equal(client.destroyed, false);
  client.destroy();
});

test('a slow client gets all of a large answer, 256 KiB in fifty seconds', async () => {
  const client = new Client(50_000);
  writeBytes(client, Buffer.alloc(1_500_000));
  for (let i = 0; i < 40 && !client.writableFinished; i++) {
    mock.timers.tick(25_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(client.writableFinished, true);
  assert.equal(client.size, 1_500_000);
});
