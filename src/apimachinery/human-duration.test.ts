// Ages are cut as kubectl cuts them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ageOf, humanDuration } from './human-duration.ts';

test('durations are printed with at most two units, as upstream does', () => {
  const second = 1000;
  const minute = 60 * second;
  const hour = 60 * minute;
  const day = 24 * hour;
  const cases: readonly (readonly [number, string])[] = [
    [-3 * second, '<invalid>'],
    [-1 * second, '0s'],
    [0, '0s'],
    [119 * second, '119s'],
    [2 * minute, '2m'],
    [3 * minute + 4 * second, '3m4s'],
    [10 * minute + 5 * second, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [7 * hour + 59 * minute, '7h59m'],
    [47 * hour, '47h'],
    [2 * day, '2d'],
    [3 * day + 5 * hour, '3d5h'],
    [8 * day + 5 * hour, '8d'],
    [365 * day, '365d'],
    [2 * 365 * day, '2y'],
    [3 * 365 * day + 9 * day, '3y9d'],
    [9 * 365 * day + 9 * day, '9y'],
  ];
  for (const [ms, text] of cases) assert.equal(humanDuration(ms), text, String(ms));
});

test('the age of nothing is unknown', () => {
  assert.equal(ageOf(undefined, 0), '<unknown>');
  assert.equal(ageOf('no time', 0), '<unknown>');
  assert.equal(ageOf('1970-01-01T00:00:00Z', 5000), '5s');
});
