// A heap is a priority queue: random pushes and pops against a sort.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Heap } from './heap.ts';

test('a heap gives back what was pushed, smallest first', () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), (numbers) => {
      const heap = new Heap<number>((a, b) => a < b);
      for (const n of numbers) heap.push(n);
      const out: number[] = [];
      for (let n = heap.pop(); n !== undefined; n = heap.pop()) out.push(n);
      assert.deepEqual(
        out,
        [...numbers].sort((a, b) => a - b),
      );
    }),
  );
});
