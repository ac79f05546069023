// What is loaded is loaded once; what could not be loaded is not given up for ever.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadOnce } from './load-once.ts';

test('all who ask wait for one load, and a load that failed is tried again', async () => {
  let loads = 0;
  const get = loadOnce(async () => {
    if (loads++ === 0) throw new Error('EMFILE: too many open files');
    return loads;
  });
  const [first, second] = [get(), get()];
  await assert.rejects(first, /EMFILE/);
  await assert.rejects(second, /EMFILE/);
  assert.equal(loads, 1);
  assert.deepEqual(await Promise.all([get(), get()]), [2, 2]);
  assert.equal(await get(), 2);
});
