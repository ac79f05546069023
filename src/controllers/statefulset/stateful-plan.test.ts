// The steps of a StatefulSet: in order, or all at once, and never more than a step can carry.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StatefulSet } from '../../api/generated/types/apps-v1.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { type StatefulView, statefulPlan } from './stateful-plan.ts';

const setOf = (spec: object): StatefulSet =>
  ({ metadata: { name: 's', namespace: 'n' }, spec: { replicas: 3, ...spec } }) as StatefulSet;
const podOf = (ordinal: number): Pod =>
  ({
    metadata: { name: `s-${ordinal}`, labels: { 'controller-revision-hash': 'h' } },
    spec: { containers: [] },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  }) as Pod;
const plan = (spec: object, ordinals: readonly number[] = []): ReturnType<typeof statefulPlan> => {
  const view: StatefulView = {
    set: setOf(spec),
    pods: ordinals.map(podOf),
    currentHash: 'h',
    updateHash: 'h',
    now: 1_000_000,
  };
  return statefulPlan(view);
};
const created = (...args: Parameters<typeof plan>): number[] =>
  plan(...args).create.map(({ ordinal }) => ordinal);

test('pods are made one after the other, or all at once where the set says Parallel', () => {
  assert.deepEqual(created({}), [0]);
  assert.deepEqual(created({ podManagementPolicy: 'Parallel' }), [0, 1, 2]);
  assert.deepEqual(created({ podManagementPolicy: 'Parallel', ordinals: { start: 5 } }, [6]), [5, 7]);
});

test('two thousand million replicas are no longer a list than five hundred', () => {
  const huge = { replicas: 2 ** 31 - 1, podManagementPolicy: 'Parallel' };
  assert.equal(created(huge).length, 500);
  const there = Array.from({ length: 500 }, (_, i) => i);
  assert.deepEqual(created(huge, there).slice(0, 2), [500, 501]);
  assert.deepEqual(created({ ...huge, ordinals: { start: 2 ** 31 - 1 } }).length, 500);
});
