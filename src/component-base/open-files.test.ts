// What the kernel says of open files.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mostOpenFiles } from './open-files.ts';

test('the soft limit of open files is read, and absent where nobody says', () => {
  const limits = (soft: number | string) => (): string =>
    `Limit                     Soft Limit           Hard Limit           Units     \nMax open files            ${soft}                1048576              files     \n`;
  assert.equal(mostOpenFiles(limits(20_000)), 20_000);
  assert.equal(mostOpenFiles(limits('unlimited')), Number.POSITIVE_INFINITY);
  assert.equal(
    mostOpenFiles(() => {
      throw new Error('no such file');
    }),
    Number.POSITIVE_INFINITY,
  );
  assert.ok(mostOpenFiles() >= 64);
});
