// Frames are told apart wherever their bytes are cut, whatever the form of their length.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unaskedPong, WebSocketBoundaries } from './websocket-boundaries.ts';

/** Payloads that would pass for heads. */
function frame(bytes: number, { masked = false } = {}): Buffer {
  const mask = masked ? 0x80 : 0;
  const head =
    bytes < 126
      ? Buffer.from([0x82, mask | bytes])
      : bytes < 65_536
        ? Buffer.from([0x82, mask | 126, bytes >> 8, bytes & 255])
        : Buffer.from([
            0x82,
            mask | 127,
            0,
            0,
            0,
            0,
            0,
            (bytes >> 16) & 255,
            (bytes >> 8) & 255,
            bytes & 255,
          ]);
  return Buffer.concat([head, Buffer.alloc(masked ? 4 : 0, 0xff), Buffer.alloc(bytes, 0x82)]);
}

test('between frames is where their lengths say, wherever the bytes are cut', () => {
  const frames = [
    frame(5),
    unaskedPong,
    frame(0, { masked: true }),
    frame(125),
    frame(126),
    frame(300, { masked: true }),
    frame(70_000),
    frame(65_535),
    unaskedPong,
  ];
  const bytes = Buffer.concat(frames);
  let end = 0;
  const ends = new Set([0, ...frames.map((one) => (end += one.length))]);
  for (const size of [1, 3, 7, 9, 4096, bytes.length]) {
    const boundaries = new WebSocketBoundaries();
    assert.equal(boundaries.between, true);
    for (let at = 0; at < bytes.length; at += size) {
      boundaries.read(bytes.subarray(at, at + size));
      const upTo = Math.min(at + size, bytes.length);
      assert.equal(boundaries.between, ends.has(upTo), `in pieces of ${size}, after ${upTo}`);
    }
  }
});
