// Watch streams cut in all places.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WatchStreamError, watchEvents } from './watch-stream.ts';

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
async function all(bytes: Buffer, size = bytes.length): Promise<unknown[]> {
  const events: unknown[] = [];
  for await (const event of watchEvents(inPieces(bytes, size))) events.push(event);
  return events;
}
const added = { type: 'ADDED', object: { metadata: { name: 'grüße' } } };
const deleted = { type: 'DELETED', object: { metadata: { name: 'b' } } };
const stream = Buffer.from(`${JSON.stringify(added)}\n${JSON.stringify(deleted)}\n`);

describe('watchEvents', () => {
  it('finds the events however the network cuts the bytes', async () => {
    for (let size = 1; size <= stream.length; size++)
      assert.deepEqual(await all(stream, size), [added, deleted]);
  });
  it('drops a last event that was cut', async () => {
    assert.deepEqual(await all(stream.subarray(0, stream.length - 3)), [added]);
  });
  it('skips empty lines', async () => {
    assert.deepEqual(await all(Buffer.from(`\n\r\n${JSON.stringify(added)}\n`)), [added]);
  });
  it('refuses what is not an event', async () => {
    for (const line of ['null\n', '{"type":"NEW","object":{}}\n', '{"type":"ADDED"}\n', '<html>\n', '[]\n'])
      await assert.rejects(all(Buffer.from(line)), WatchStreamError);
  });
  it('does not let __proto__ in an event change other objects', async () => {
    await all(Buffer.from('{"type":"ADDED","object":{"__proto__":{"polluted":true}}}\n'));
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
  });
});
