// Texts of completed indexes.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatIndexes, parseIndexes } from './completed-indexes.ts';

describe('completed indexes', () => {
  it('are written as upstream writes them', () => {
    for (const [indexes, text] of [
      [[], ''],
      [[3], '3'],
      [[0, 1], '0,1'],
      [[0, 1, 2, 5, 7, 8], '0-2,5,7,8'],
    ] as const)
      assert.equal(formatIndexes(new Set(indexes)), text);
  });
  it('are read without what is beyond or malformed', () => {
    assert.deepEqual([...parseIndexes('0,2-4,9,x,-1,5-', 5)], [0, 2, 3, 4]);
    assert.deepEqual([...parseIndexes(undefined, 5)], []);
    assert.deepEqual([...parseIndexes('0-999999999', 3)], [0, 1, 2]);
  });
});
