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

const rolling = (maxUnavailable: number | string | undefined, more: object = {}): object => ({
  replicas: 5,
  updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable } },
  ...more,
});
const old = (ordinal: number, ready = 'True'): Pod => podOf(ordinal, { revision: 's-old', ready });
const updated = (spec: object, pods: readonly Pod[]): string[] =>
  statefulPlan(viewOf(spec, pods)).remove.map(({ metadata }) => metadata.name);

test('as many pods are updated at once as may be unavailable, from the highest; a share of the replicas is rounded down, to one at least', () => {
  const all = [0, 1, 2, 3, 4].map((ordinal) => old(ordinal));
  assert.deepEqual(updated(rolling(undefined), all), ['s-4']);
  assert.deepEqual(updated(rolling(2), all), ['s-4', 's-3']);
  assert.deepEqual(updated(rolling('50%'), all), ['s-4', 's-3']);
  assert.deepEqual(updated(rolling('10%'), all), ['s-4']);
  assert.deepEqual(updated(rolling('100%'), all).length, 5);
  const partition = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 3, partition: 4 } };
  assert.deepEqual(updated({ replicas: 5, updateStrategy: partition }, all), ['s-4']);
});

test('a pod that is unavailable for whatever reason counts among those that may be', () => {
  const parallel = { podManagementPolicy: 'Parallel' };
  const pods = [old(0, 'False'), old(1), old(2), old(3), podOf(4, { ready: 'False' })];
  assert.deepEqual(updated(rolling(2, parallel), pods), []);
  assert.deepEqual(updated(rolling(3, parallel), pods), ['s-3']);
});

test('pods that wait are given their claims, those that stay are settled, those that ended are made anew', () => {
  const pending = { ...podOf(1, { ready: 'False' }), status: { phase: 'Pending' } } as Pod;
  const ended = { ...podOf(2), status: { phase: 'Succeeded' } } as Pod;
  const names = (pods: readonly Pod[]): string[] => pods.map(({ metadata }) => metadata.name);
  const inOrder = statefulPlan(viewOf({}, [podOf(0), pending, ended]));
  assert.deepEqual(
    [names(inOrder.staying), names(inOrder.pending), names(inOrder.restart)],
    [['s-0'], ['s-1'], []],
  );
  const atOnce = statefulPlan(viewOf({ podManagementPolicy: 'Parallel' }, [podOf(0), pending, ended]));
  assert.deepEqual(
    [names(atOnce.staying), names(atOnce.pending), names(atOnce.restart)],
    [['s-0', 's-1'], ['s-1'], ['s-2']],
  );
});

test('the only one that is not available yet goes first when a set shrinks', () => {
  const since = (at: number): string => new Date(at).toISOString();
  const fresh = podOf(1);
  const pods = [podOf(0), fresh];
  for (const [pod, at] of [
    [pods[0], 0],
    [fresh, 995_000],
  ] as const)
    pod!.status!.conditions![0]!.lastTransitionTime = since(at);
  assert.deepEqual(updated({ replicas: 0, minReadySeconds: 60 }, pods), ['s-1']);
});
