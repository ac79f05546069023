// Once, however often it is asked for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { once } from './once.ts';

test('work is done when it is first asked for, and its result kept, whatever it is', () => {
  let count = 0;
  const make = once(() => {
    count++;
    return undefined;
  });
  assert.equal(count, 0);
  assert.equal(make(), undefined);
  assert.equal(make(), undefined);
  assert.equal(count, 1);
});
