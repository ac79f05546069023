// Tolerations made one list: what is left out, and how long thousands of them take.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Toleration } from '../../../api/generated/types/core-v1.ts';
import { includesToleration, mergeTolerations } from './merge-tolerations.ts';

const table: readonly (readonly [wide: Toleration, narrow: Toleration, includes: boolean])[] = [
  [{ key: 'a', operator: 'Exists' }, { key: 'a', operator: 'Equal', value: 'b' }, true],
  [{ key: 'a', operator: 'Exists' }, { key: 'b', operator: 'Exists' }, false],
  [{ operator: 'Exists' }, { key: 'b', value: 'c', effect: 'NoExecute' }, true],
  [{ key: 'a', value: 'b' }, { key: 'a', value: 'b' }, true],
  [{ key: 'a', value: 'b' }, { key: 'a', value: 'c' }, false],
  [
    { key: 'a', operator: 'Exists', effect: 'NoExecute' },
    { key: 'a', operator: 'Exists', effect: 'NoSchedule' },
    false,
  ],
  [
    { key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 },
    { key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 9 },
    false,
  ],
  [
    { key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 9 },
    { key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 },
    true,
  ],
  [{ key: 'a', operator: 'Lt', value: '5' }, { key: 'a', operator: 'Lt', value: '5' }, true],
  [{ key: 'a', operator: 'Lt', value: '5' }, { key: 'a', operator: 'Lt', value: '4' }, false],
];

test('a toleration includes another, or does not', () => {
  for (const [wide, narrow, includes] of table)
    assert.equal(includesToleration(wide, narrow), includes, JSON.stringify([wide, narrow]));
});

test('thousands that include one another nowhere are merged in a second or two', () => {
  const many = Array.from({ length: 9_000 }, (_, i): Toleration => ({ key: `k${i}`, operator: 'Exists' }));
  const from = process.cpuUsage();
  assert.equal(
    mergeTolerations(many, [{ key: 'z', operator: 'Exists' }, ...many.slice(0, 10)]).length,
    9_001,
  );
  const { user } = process.cpuUsage(from);
  assert.ok(user < 4_000_000, `${user / 1000} ms`);
});
