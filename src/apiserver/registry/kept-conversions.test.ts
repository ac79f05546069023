// What was converted is kept by its bytes, and not more than there is room for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResourceDeclaration } from '../../apimachinery/declaration.ts';
import { KeptConversions } from './kept-conversions.ts';

/** Small values are not free. */
const entry = 512;

const declared = (version: string): ResourceDeclaration => ({ version }) as unknown as ResourceDeclaration;

test('what was converted is found by the very bytes it was made of, in its version', () => {
  const kept = new KeptConversions();
  const [v2, v3] = [declared('v2'), declared('v3')];
  const value = Buffer.from('stored');
  kept.put(value, v2, Buffer.from('two'));
  kept.put(value, v3, Buffer.from('three'));
  assert.equal(String(kept.get(value, v2)), 'two');
  assert.equal(String(kept.get(value, v3)), 'three');
  assert.equal(kept.get(Buffer.from('stored'), v2), undefined);
  kept.put(value, v2, Buffer.from('again'));
  assert.equal(String(kept.get(value, v2)), 'again');
  assert.equal(kept.bytes, entry + 'stored'.length + 'again'.length + 'three'.length);
});

test('what was not asked for the longest goes when there is too much', () => {
  const kept = new KeptConversions(4 * (entry + 25));
  const v2 = declared('v2');
  const values = Array.from({ length: 5 }, () => Buffer.alloc(10));
  for (const value of values.slice(0, 4)) kept.put(value, v2, Buffer.alloc(15));
  kept.get(values[0]!, v2);
  kept.put(values[4]!, v2, Buffer.alloc(15));
  assert.deepEqual(
    values.map((value) => kept.get(value, v2) !== undefined),
    [true, false, true, true, true],
  );
  assert.equal(kept.bytes, 4 * (entry + 25));
  kept.put(Buffer.alloc(10), v2, Buffer.alloc(10_000));
  assert.equal(kept.bytes, 0);
});
