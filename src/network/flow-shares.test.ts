// How many connections a pod may have, by the size of the kernel's table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderFlowShares } from './flow-shares.ts';

test('a pod has a sixteenth of the table, in short lists', () => {
  const listsOf = (size?: number): number => {
    const text = renderFlowShares('10.244.0.0/16', size);
    assert.match(text, /ip saddr != 10\.244\.0\.0\/16 accept/);
    assert.match(text, /ct count over 64 }/);
    return Number(/mod (\d+) /.exec(text)?.[1]);
  };
  assert.equal(listsOf() * 64, 16_384);
  assert.equal(listsOf(262_144) * 64, 16_384);
  assert.equal(listsOf(1_048_576) * 64, 65_536);
  // A small table leaves room for programs; of a huge one nobody needs more.
  assert.equal(listsOf(1_000) * 64, 1_024);
  assert.equal(listsOf(1 << 30) * 64, 262_144);
});
