// The steps of a StatefulSet: in order, or all at once, and never more than a step can carry.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StatefulSet } from '../../api/generated/types/apps-v1.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { type StatefulView, statefulPlan, statefulStatus } from './stateful-plan.ts';
import { statefulPod } from './stateful-pod.ts';

const setOf = (spec: object): StatefulSet =>
  ({ metadata: { name: 's', namespace: 'n' }, spec: { replicas: 3, ...spec } }) as StatefulSet;
const podOf = (ordinal: number, { ready = 'True', revision = 's-new' } = {}): Pod =>
  ({
    metadata: { name: `s-${ordinal}`, labels: { 'controller-revision-hash': revision } },
    spec: { containers: [] },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready }] },
  }) as Pod;
const template = (image: string): { spec: { containers: { name: string; image: string }[] } } => ({
  spec: { containers: [{ name: 'c', image }] },
});
const viewOf = (spec: object, pods: readonly Pod[]): StatefulView => ({
  set: setOf(spec),
  pods,
  current: { name: 's-old', template: template('old') },
  update: { name: 's-new', template: template('new') },
  now: 1_000_000,
});
const plan = (spec: object, ordinals: readonly number[] = []): ReturnType<typeof statefulPlan> =>
  statefulPlan(
    viewOf(
      spec,
      ordinals.map((ordinal) => podOf(ordinal)),
    ),
  );
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

test('a pod below the partition is made anew of the revision it had, template and all', () => {
  const spec = { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } };
  const parallel = statefulPlan(viewOf({ ...spec, podManagementPolicy: 'Parallel' }, []));
  const made = parallel.create.map(({ ordinal, revision }) =>
    statefulPod(setOf({ ...spec, template: template('new') }), ordinal, revision),
  );
  assert.deepEqual(
    made.map(({ metadata, spec }) => [
      metadata.labels?.['controller-revision-hash'],
      spec.containers[0]?.image,
    ]),
    [
      ['s-old', 'old'],
      ['s-new', 'new'],
      ['s-new', 'new'],
    ],
  );
});

test('a set shrinks from the highest, and stops at a pod that is not ready while one below is not ready either', () => {
  const removed = (...ready: string[]): string[] =>
    statefulPlan(
      viewOf(
        { replicas: 0 },
        ready.map((r, i) => podOf(i, { ready: r })),
      ),
    ).remove.map(({ metadata }) => metadata.name);
  assert.deepEqual(removed('True', 'True'), ['s-1']);
  assert.deepEqual(removed('False', 'True'), ['s-1']);
  assert.deepEqual(removed('False', 'False'), []);
  assert.deepEqual(removed('True', 'False'), ['s-1']);
});

test('a pod that is labelled with the hash alone, as once, is of its revision', () => {
  const pods = [podOf(0), podOf(1, { revision: 'new' }), podOf(2, { revision: 's-old' })];
  const view = viewOf({}, pods);
  assert.deepEqual(
    statefulPlan(view).remove.map(({ metadata }) => metadata.name),
    ['s-2'],
  );
  const { updatedReplicas, currentReplicas, currentRevision } = statefulStatus(view, undefined);
  assert.deepEqual([updatedReplicas, currentReplicas, currentRevision], [2, 1, 's-old']);
});

test('only a rolling update ends: of OnDelete the current revision stays what it was', () => {
  const pods = [podOf(0), podOf(1), podOf(2)];
  const after = (type: string): string | undefined =>
    statefulStatus(viewOf({ updateStrategy: { type } }, pods), undefined).currentRevision;
  assert.deepEqual([after('RollingUpdate'), after('OnDelete')], ['s-new', 's-old']);
});
