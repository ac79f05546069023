// What entries of managers say of the past: their times, what resets them, and which are put together.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '../declaration.ts';
import { entryPaths, managedOf, run, take } from './testing/ownership-rows.ts';

// Times, resets, and how many there may be.
const times = (object: JsonObject): Json[] =>
  managedOf(object).map((m) => [m['manager']!, m['time'] ?? null]);

test('an apply that leaves the object as it is leaves the time as it is: of the first one there is none', async () => {
  const first = await run({ name: '', steps: [{ apply: 'a', object: { count: 1, text: 'x' } }] });
  assert.deepEqual(times(first), [['a', '2026-01-01T00:00:00Z']]);
  const second = await take(first, { apply: 'b', object: { count: 1 } }, {}, 5);
  assert.deepEqual(times(second), [
    ['b', null],
    ['a', '2026-01-01T00:00:00Z'],
  ]);
  const less = await take(second, { apply: 'a', object: { count: 1 } }, {}, 6);
  assert.deepEqual(times(less).at(-1), ['a', '2026-01-01T00:00:06Z']);
  const handed = await take(second, { apply: 'b', object: { count: 1, text: 'x' } }, {}, 7);
  assert.deepEqual(times(handed), times(second), 'it owns more, and nothing changed');
});

test('a list of nothing resets as one of an empty entry does; what makes no sense leaves what was', async () => {
  for (const managedFields of [[], [{}]]) {
    const live = await run({
      name: '',
      steps: [
        { update: 'u', object: { count: 1 } },
        { update: 'w', object: { count: 2, metadata: { managedFields } } },
      ],
    });
    assert.deepEqual(managedOf(live), []);
    const after = await take(live, { update: 'u', object: { count: 3 } }, {}, 9);
    assert.deepEqual(managedOf(after), [], 'nobody is told of until the next apply');
  }
  const entry = {
    manager: 'm',
    operation: 'Update',
    apiVersion: 'e/v1',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:count': {} },
  };
  for (const wrong of [
    { operation: 'Delete' },
    { apiVersion: '' },
    { fieldsType: 'FieldsV2' },
    { fieldsV1: { x: {} } },
  ]) {
    const live = await run({
      name: '',
      steps: [
        { update: 'u', object: { count: 1 } },
        { update: 'w', object: { count: 1, metadata: { managedFields: [{ ...entry, ...wrong }] } } },
      ],
    });
    assert.deepEqual(
      managedOf(live).map((m) => m['manager']),
      ['u'],
    );
  }
});

test('the oldest updaters are put together in each of their versions, those of subresources too', async () => {
  const entries = Array.from({ length: 14 }, (_, i) => ({
    manager: `m${i}`,
    operation: 'Update',
    apiVersion: i % 2 === 0 ? 'e/v1' : 'e/v2',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:map': { [`f:k${i}`]: {} } },
    ...(i === 2 ? { subresource: 'status' } : {}),
    time: `2025-01-01T00:00:${String(10 + i)}Z`,
  }));
  const map = Object.fromEntries(entries.map((_, i) => [`k${i}`, 'v']));
  const live = await run({
    name: '',
    steps: [
      { update: 'u', object: { map } },
      { update: 'u', object: { map, metadata: { managedFields: entries } } },
    ],
  });
  const owners = managedOf(live).map((m) => [m['manager'], m['apiVersion'], m['time'], entryPaths(m).length]);
  assert.equal(owners.length, 10);
  assert.deepEqual(owners.slice(0, 3), [
    ['ancient-changes', 'e/v1', '2025-01-01T00:00:14Z', 3],
    ['ancient-changes', 'e/v2', '2025-01-01T00:00:15Z', 3],
    ['m6', 'e/v1', '2025-01-01T00:00:16Z', 1],
  ]);
});
