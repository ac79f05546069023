// Frames are told apart wherever their bytes are cut.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpdyBoundaries, unaskedAnswer } from './spdy-boundaries.ts';

function dataFrame(bytes: number): Buffer {
  const frame = Buffer.alloc(8 + bytes, 0xff);
  frame.writeUInt32BE(1, 0);
  frame.writeUInt32BE(bytes, 4);
  return frame;
}

test('between frames is where their lengths say, wherever the bytes are cut', () => {
  const frames = [dataFrame(5), unaskedAnswer, dataFrame(0), dataFrame(1), dataFrame(70_000), unaskedAnswer];
  const bytes = Buffer.concat(frames);
  let end = 0;
  const ends = new Set([0, ...frames.map((frame) => (end += frame.length))]);
  for (const size of [1, 3, 7, 8, 9, 4096, bytes.length]) {
    const boundaries = new SpdyBoundaries();
    assert.equal(boundaries.between, true);
    for (let at = 0; at < bytes.length; at += size) {
      boundaries.read(bytes.subarray(at, at + size));
      const upTo = Math.min(at + size, bytes.length);
      assert.equal(boundaries.between, ends.has(upTo), `in pieces of ${size}, after ${upTo}`);
    }
  }
});
