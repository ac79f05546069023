// Daemon pods that fail as fast as they are made.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { FailedPods, holdFailedPods } from './failed-pods.ts';

const pod = (nodeName: string, phase: string): Pod =>
  ({ metadata: { name: nodeName }, spec: { nodeName, containers: [] }, status: { phase } }) as unknown as Pod;
const planOf = (...pods: Pod[]) => ({
  create: ['new'],
  remove: [...pods, pod('old', 'Running')],
  failed: pods,
});
const names = (pods: readonly Pod[]): string[] => pods.map(({ metadata }) => metadata.name);

test('a pod that fails again and again is replaced ever later: a second, two, … a quarter of an hour', () => {
  const held = new FailedPods();
  let now = 5;
  const waits = [];
  for (let i = 0; i < 13; i++) {
    assert.equal(held.waitMs('d/1/n', now), 0);
    const wait = held.waitMs('d/1/n', now);
    assert.equal(held.waitMs('d/1/n', now + wait - 1), 1);
    waits.push(wait / 1000);
    now += wait;
  }
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
  // After half an hour it begins anew.
  assert.equal(held.waitMs('d/1/n', now + 1_800_001), 0);
  assert.equal(held.waitMs('d/1/n', now + 1_800_001), 1_000);
});

test('another node, another generation and a pod that succeeded do not wait', () => {
  const held = new FailedPods();
  const [a, b] = [pod('a', 'Failed'), pod('b', 'Failed')];
  const first = holdFailedPods(planOf(a), 'd/1', held, 0);
  assert.deepEqual([names(first.plan.remove), first.waitMs], [['a', 'old'], undefined]);
  const second = holdFailedPods(planOf(a, b), 'd/1', held, 400);
  assert.deepEqual(names(second.plan.remove), ['b', 'old']);
  assert.deepEqual([names(second.plan.failed), second.plan.create, second.waitMs], [['b'], ['new'], 600]);
  assert.equal(holdFailedPods(planOf(a), 'd/2', held, 400).waitMs, undefined);
  assert.equal(holdFailedPods(planOf(pod('b', 'Succeeded')), 'd/1', held, 400).waitMs, undefined);
});
