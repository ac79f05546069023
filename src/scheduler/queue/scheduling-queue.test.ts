// The order in which pods are tried, and when a refused one is tried again.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { prioritySort } from '../plugins/priority-sort.ts';
import { schedulingGates } from '../plugins/scheduling-gates.ts';
import { makePod } from '../testing/builders.ts';
import { SchedulingQueue } from './scheduling-queue.ts';

describe('the scheduling queue', () => {
  let clock: FakeClock;
  let queue: SchedulingQueue;
  let woken = 0;
  beforeEach(() => {
    clock = new FakeClock();
    woken = 0;
    queue = new SchedulingQueue({
      clock,
      less: prioritySort.less!,
      preEnqueue: [schedulingGates],
      requeueOn: new Map([
        ['NodeResourcesFit', ['NodeAdd', 'AssignedPodDelete']],
        ['SchedulingGates', ['UnscheduledPodUpdate']],
      ]),
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
    queue.moveAllOn('NodeLabelUpdate');
    clock.advance(20_000);
    assert.equal(next(), undefined);
    queue.moveAllOn('AssignedPodDelete');
    assert.equal(next(), 'p', 'its back-off is over');
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

  test('keeps a gated pod out until its gates are gone', () => {
    const pod = makePod('p', { spec: { schedulingGates: [{ name: 'wait' }] } });
    queue.add(pod);
    assert.equal(next(), undefined);
    queue.update({ ...pod, spec: { ...pod.spec, schedulingGates: [] } });
    assert.equal(next(), 'p');
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
    queue.update({ ...pod, metadata: { ...pod.metadata, labels: { changed: 'yes' } } });
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
