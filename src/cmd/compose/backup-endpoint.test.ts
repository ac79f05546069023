// A backup that is read by a client at its own pace: no piece is larger than asked for, and one that stops is cut.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pulled } from './backup-endpoint.ts';

test('X18: a backup comes in pieces of what was asked for, whole, and does not wait for ever', () => {
  const chunks = [Buffer.from('a'), Buffer.alloc(1000, 'b'), Buffer.alloc(0), Buffer.from('c')];
  let ended = 0;
  function* source(): Generator<Buffer, void, void> {
    try {
      yield* chunks;
    } finally {
      ended++;
    }
  }
  const body = pulled(source());
  assert.equal(body.stallMs, 60_000);
  const pieces: Buffer[] = [];
  for (let piece = body.pull(300); piece; piece = body.pull(300)) pieces.push(piece);
  assert.ok(pieces.every((piece) => piece.length <= 300));
  assert.deepEqual(Buffer.concat(pieces), Buffer.concat(chunks));
  const left = pulled(source());
  left.pull(1);
  left.pull(300);
  left.close();
  assert.equal(left.pull(300), null);
  assert.equal(ended, 2);
});
