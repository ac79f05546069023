// The order in which pods are tried, and when a refused one is tried again.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createMetrics, type MetricsRegistry } from '../../component-base/metrics.ts';
import type { ClusterEvent, QueuedPod } from '../framework/plugin.ts';
import { prioritySort } from '../plugins/priority-sort.ts';
import { schedulingGates } from '../plugins/scheduling-gates.ts';
import { noNodes } from '../scheduling-cycle.ts';
import { makePod } from '../testing/builders.ts';
import { SchedulingQueue } from './scheduling-queue.ts';

describe('the scheduling queue', () => {
  let clock: FakeClock;
  let metrics: MetricsRegistry;
  let queue: SchedulingQueue;
  let woken = 0;
  const requeueOn = new Map<string, readonly ClusterEvent[]>([
    ['NodeResourcesFit', ['NodeAdd', 'AssignedPodDelete']],
    ['SchedulingGates', ['UnschedulablePodUpdatePodSchedulingGatesEliminated']],
    ['InterPodAffinity', ['UnschedulablePodUpdatePodLabel']],
    [noNodes, ['NodeAdd']],
  ]);
  beforeEach(() => {
    clock = new FakeClock();
    woken = 0;
    metrics = createMetrics();
    queue = new SchedulingQueue({
      clock,
      metrics,
      less: prioritySort.less!,
      profileOf: () => ({ name: 'test', preEnqueue: [schedulingGates], requeueOn }),
      onReady: () => woken++,
    });
  });
  const next = (): string | undefined => queue.pop()?.pod.metadata.name;

  test('gives higher priorities first, then who came first', () => {
    queue.add(makePod('first'));
    clock.advance(1);
    queue.add(makePod('second'));
    queue.add(makePod('urgent', { spec: { priority: 10 } }));
    assert.deepEqual([next(), next(), next(), next()], ['urgent', 'first', 'second', undefined]);
    assert.equal(woken, 3);
  });

  test('tries a refused pod again only after an event that may help', () => {
    queue.add(makePod('p'));
    queue.addUnschedulable(queue.pop()!, new Set(['NodeResourcesFit']));
    queue.moveAllOn('NodeUpdateNodeLabel');
    clock.advance(20_000);
    assert.equal(next(), undefined);
    queue.moveAllOn('AssignedPodDelete');
    assert.equal(next(), 'p', 'its back-off is over');
  });

  test('leaves pods without any node alone until there is one', () => {
    for (const name of ['a', 'b']) {
      queue.add(makePod(name));
      queue.addUnschedulable(queue.pop()!, new Set([noNodes]));
    }
    assert.equal(clock.pending, 0, 'nothing is due');
    for (const event of [
      'AssignedPodAdd',
      'AssignedPodDelete',
      'PersistentVolumeClaimAdd',
      'NodeUpdateNodeLabel',
    ] as const)
      queue.moveAllOn(event);
    clock.advance(20_000);
    queue.flush();
    assert.deepEqual(queue.counts(), { active: 0, backoff: 0, unschedulable: 2, gated: 0 });
    queue.moveAllOn('NodeAdd');
    assert.deepEqual([next(), next(), next()], ['a', 'b', undefined]);
  });

  test('knows what was written into a waiting pod, and wakes nobody for it', () => {
    const pods = ['waits', 'backs-off', 'is-tried', 'active'].map((name) => makePod(name));
    const newer = pods.map((pod) => ({ ...pod, status: { phase: 'Pending' as const } }));
    queue.add(pods[0]!);
    queue.addUnschedulable(queue.pop()!, new Set([noNodes]));
    queue.add(pods[1]!);
    queue.addUnschedulable(queue.pop()!, new Set());
    queue.add(pods[2]!);
    const tried = queue.pop()!;
    queue.add(pods[3]!);
    for (const pod of newer) assert.equal(queue.refresh(pod), true);
    assert.deepEqual(queue.counts(), { active: 1, backoff: 1, unschedulable: 1, gated: 0 });
    assert.equal(queue.refresh(makePod('unknown')), false);
    queue.addUnschedulable(tried, new Set([noNodes]));
    queue.moveAllOn('ForceActivate');
    clock.advance(1_000);
    const handed = [queue.pop(), queue.pop(), queue.pop(), queue.pop()].map((one) => one?.pod);
    assert.deepEqual(new Set(handed), new Set(newer));
  });

  test('tries a pod that changed while it was tried with what it says now', () => {
    const pod = makePod('p');
    queue.add(pod);
    const tried = queue.pop()!;
    const changed = { ...pod, metadata: { ...pod.metadata, labels: { changed: 'yes' } } };
    queue.update(changed, 'UnschedulablePodUpdatePodLabel');
    queue.addUnschedulable(tried, new Set(['InterPodAffinity']));
    clock.advance(1_000);
    assert.equal(queue.pop()?.pod, changed);
  });

  test('lets a pod that just failed wait out its back-off, doubled each time', () => {
    queue.add(makePod('p'));
    for (const waitMs of [1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
      queue.addUnschedulable(queue.pop()!, new Set(['NodeResourcesFit']));
      queue.moveAllOn('NodeAdd');
      clock.advance(waitMs - 1);
      assert.equal(next(), undefined, `still waiting after ${waitMs - 1} ms`);
      clock.advance(1);
      assert.equal(queue.counts().active, 1);
    }
  });

  test('does not miss an event that comes while the pod is being tried', () => {
    queue.add(makePod('p'));
    const tried = queue.pop()!;
    queue.moveAllOn('NodeAdd');
    queue.addUnschedulable(tried, new Set(['NodeResourcesFit']));
    clock.advance(1_000);
    assert.equal(next(), 'p');
  });

  test('remembers an event once, however often it comes while the pod is being tried', (t) => {
    queue.add(makePod('p'));
    const tried = queue.pop()!;
    for (let i = 0; i < 1_000; i++) queue.moveAllOn('NodeUpdateNodeLabel');
    const asked = t.mock.method(requeueOn, 'get');
    queue.addUnschedulable(tried, new Set(['NodeResourcesFit']));
    assert.equal(asked.mock.callCount(), 1);
    assert.equal(queue.counts().unschedulable, 1);
  });

  test('does not take a pod back that was removed while it was tried', () => {
    for (const refusedBy of [new Set<string>(), new Set(['NodeResourcesFit'])]) {
      const pod = makePod('p');
      queue.add(pod);
      const tried = queue.pop()!;
      queue.remove(pod);
      assert.equal(queue.addUnschedulable(tried, refusedBy), false);
      assert.equal(queue.size, 0);
      assert.equal(clock.pending, 0, 'nothing is due');
    }
  });

  for (const [what, ends] of [
    ['fails', (tried: QueuedPod) => void queue.addUnschedulable(tried, new Set())],
    ['is over', (tried: QueuedPod) => queue.done(tried)],
  ] as const)
    test(`does not take one pod for another of its name, when the try of the removed one ${what}`, () => {
      const pod = makePod('p');
      queue.add(pod);
      const removed = queue.pop()!;
      queue.remove(pod);
      queue.add(makePod('p'));
      const tried = queue.pop()!;
      ends(removed);
      assert.equal(queue.size, 0);
      assert.equal(queue.addUnschedulable(tried, new Set(['NodeResourcesFit'])), true);
      assert.equal(queue.counts().unschedulable, 1);
    });

  test('asks the gate of a pod once for each event, though it holds it still', () => {
    queue.add(makePod('gated', { spec: { schedulingGates: [{ name: 'wait' }] } }));
    queue.moveAllOn('UnschedulablePodUpdatePodSchedulingGatesEliminated');
    assert.equal(next(), undefined);
    assert.equal(queue.counts().gated, 1);
  });

  test('keeps a gated pod out until its gates are gone', () => {
    const pod = makePod('p', { spec: { schedulingGates: [{ name: 'wait' }] } });
    queue.add(pod);
    assert.equal(next(), undefined);
    const spec = { ...pod.spec, schedulingGates: [] };
    queue.update({ ...pod, spec }, 'UnschedulablePodUpdatePodSchedulingGatesEliminated');
    assert.equal(next(), 'p');
  });

  test('tells which pods wait, what brought them there and who refused them', async () => {
    const told = async (): Promise<readonly string[]> =>
      (await metrics.text()).text
        .split('\n')
        .filter((line) => line.startsWith('scheduler_'))
        .map((line) => line.replace('scheduler_', ''));
    queue.add(makePod('gated', { spec: { schedulingGates: [{ name: 'wait' }] } }));
    for (const name of ['a', 'b']) {
      queue.add(makePod(name));
      queue.addUnschedulable(queue.pop()!, new Set(['NodeResourcesFit']));
    }
    queue.moveAllOn('NodeAdd');
    clock.advance(1_000);
    queue.add(makePod('c'));
    for (let tries = 0; tries < 3; tries++)
      queue.addUnschedulable(queue.pop()!, new Set(['NodeResourcesFit']));
    assert.deepEqual(await told(), [
      'queue_incoming_pods_total{queue="gated",event="UnschedulablePodAdd"} 1',
      'queue_incoming_pods_total{queue="active",event="UnschedulablePodAdd"} 3',
      'queue_incoming_pods_total{queue="active",event="BackoffComplete"} 2',
      'queue_incoming_pods_total{queue="unschedulable",event="ScheduleAttemptFailure"} 5',
      'queue_incoming_pods_total{queue="backoff",event="NodeAdd"} 2',
      'pending_pods{queue="active"} 0',
      'pending_pods{queue="backoff"} 0',
      'pending_pods{queue="unschedulable"} 3',
      'pending_pods{queue="gated"} 1',
      'unschedulable_pods{plugin="SchedulingGates",profile="test"} 1',
      'unschedulable_pods{plugin="NodeResourcesFit",profile="test"} 3',
    ]);
    queue.close();
    assert.ok(
      !(await told()).some((line) => line.startsWith('pending_pods{')),
      'one that ended is asked no more',
    );
  });

  test('forgets a removed pod wherever it is', () => {
    const pods = ['active', 'backoff', 'unschedulable'].map((name) => makePod(name));
    queue.add(pods[1]!);
    queue.addUnschedulable(queue.pop()!, new Set());
    queue.add(pods[2]!);
    queue.addUnschedulable(queue.pop()!, new Set(['NodeResourcesFit']));
    queue.add(pods[0]!);
    for (const pod of pods) queue.remove(pod);
    queue.moveAllOn('ForceActivate');
    clock.advance(60_000);
    assert.equal(next(), undefined);
    assert.equal(queue.size, 0);
    assert.equal(clock.pending, 0, 'no timer is left');
  });

  test('hands out the newest version of a pod that changed while waiting', () => {
    const pod = makePod('p');
    queue.add(pod);
    const metadata = { ...pod.metadata, labels: { changed: 'yes' } };
    queue.update({ ...pod, metadata }, 'UnschedulablePodUpdatePodLabel');
    assert.deepEqual(queue.pop()?.pod.metadata.labels, { changed: 'yes' });
    assert.equal(next(), undefined);
  });

  test('tries pods that waited five minutes without any event', () => {
    queue.add(makePod('p'));
    queue.addUnschedulable(queue.pop()!, new Set(['NodeResourcesFit']));
    clock.advance(300_000);
    queue.flush();
    assert.equal(next(), 'p');
  });
});
