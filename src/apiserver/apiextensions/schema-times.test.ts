// What a change of a definition overtakes counts as older than the change, however late it is stored.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SchemaTimes } from './schema-times.ts';

test('a write that is overtaken makes all older while it lasts, and what it stored for good', () => {
  const times = new SchemaTimes(0);
  const first = times.writes();
  first()(3);
  assert.equal(times.revision, 0, 'nothing was overtaken');
  const underWay = first();
  times.replace(5);
  const second = times.writes();
  assert.equal(times.revision, Number.POSITIVE_INFINITY);
  const byNow = second();
  underWay(7);
  byNow(8);
  assert.equal(times.revision, 7);
  // A request that began long before may come to write only now.
  const late = first();
  assert.equal(times.revision, Number.POSITIVE_INFINITY);
  times.replace(9);
  late(12);
  assert.equal(times.revision, 12);
  second()(11);
  assert.equal(times.revision, 12, 'it never falls');
});

test('what would be stored in a version that is none any more is not stored', () => {
  const times = new SchemaTimes(0, 'v1');
  const first = times.writes();
  times.replace(5);
  first()(6);
  times.replace(7, 'v2');
  assert.throws(first, { code: 503, message: /storage version of the custom resource changed/ });
  times.writes()()(8);
  assert.equal(times.revision, 7);
});
