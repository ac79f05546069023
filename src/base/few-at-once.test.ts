// How many are under way, in which order they are answered, and what a failure leaves undone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fewAtOnce } from './few-at-once.ts';

/** Work that is over when the test says so. */
function byHand() {
  const begun: number[] = [];
  const ends = new Map<number, (failure?: Error) => void>();
  return {
    begun,
    work: (item: number): Promise<string> =>
      new Promise((resolve, reject) => {
        begun.push(item);
        ends.set(item, (failure) => (failure ? reject(failure) : resolve(`of ${item}`)));
      }),
    async end(item: number, failure?: Error): Promise<void> {
      ends.get(item)?.(failure);
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    },
  };
}

test('no more than so many are under way, and the results stand in order of the items', async () => {
  const { begun, work, end } = byHand();
  const results = fewAtOnce([0, 1, 2, 3], 2, work);
  assert.deepEqual(begun, [0, 1]);
  await end(1);
  assert.deepEqual(begun, [0, 1, 2]);
  await end(2);
  assert.deepEqual(begun, [0, 1, 2, 3]);
  await end(3);
  await end(0);
  assert.deepEqual(await results, ['of 0', 'of 1', 'of 2', 'of 3']);
});

test('after a failure none is begun; who is told of it is told of the first, when none is under way', async () => {
  const { begun, work, end } = byHand();
  let over = false;
  const refused = assert
    .rejects(fewAtOnce([0, 1, 2, 3], 2, work), { message: 'first' })
    .finally(() => (over = true));
  await end(1, new Error('first'));
  assert.equal(over, false);
  await end(0, new Error('second'));
  await refused;
  assert.deepEqual(begun, [0, 1]);
});

test('an item may be undefined, and there may be none', async () => {
  assert.deepEqual(await fewAtOnce([undefined, 1], 3, async (item) => item), [undefined, 1]);
  assert.deepEqual(await fewAtOnce([], 3, async () => 1), []);
});
