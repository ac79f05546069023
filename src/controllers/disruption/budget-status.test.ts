// How many pods of a budget may be away.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { PodDisruptionBudget } from '../../api/generated/types/policy-v1.ts';
import { budgetStatus, isBudgetOf, needsScale } from './budget-status.ts';

const now = Date.parse('2026-01-01T00:10:00Z');
const budget = (spec: object, disruptedPods?: Record<string, string>): PodDisruptionBudget =>
  ({
    metadata: { name: 'b', namespace: 'n', generation: 3 },
    spec: { selector: { matchLabels: { app: 'a' } }, ...spec },
    status: { disruptedPods },
  }) as PodDisruptionBudget;
const pod = (name: string, ready = true, metadata: object = {}): Pod =>
  ({
    metadata: { name, namespace: 'n', labels: { app: 'a' }, ...metadata },
    spec: { containers: [] },
    status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  }) as Pod;
const counts = (b: PodDisruptionBudget, pods: Pod[], scale = 0): (number | undefined)[] => {
  const { status } = budgetStatus(b, { pods, scale, now });
  return [status.expectedPods, status.currentHealthy, status.desiredHealthy, status.disruptionsAllowed];
};

describe('budgetStatus', () => {
  it('leaves a number or a part available', () => {
    const three = [pod('x'), pod('y'), pod('z', false)];
    assert.deepEqual(counts(budget({ minAvailable: 1 }), three), [3, 2, 1, 1]);
    assert.deepEqual(counts(budget({ minAvailable: 2 }), three), [3, 2, 2, 0]);
    assert.deepEqual(counts(budget({ minAvailable: '50%' }), three, 3), [3, 2, 2, 0]);
    assert.deepEqual(counts(budget({ maxUnavailable: 2 }), three, 3), [3, 2, 1, 1]);
    assert.deepEqual(counts(budget({ maxUnavailable: '50%' }), three, 3), [3, 2, 1, 1]);
    assert.deepEqual(counts(budget({ maxUnavailable: 9 }), three, 3), [3, 2, 0, 2]);
  });
  it('lets none go when there are none', () => {
    assert.deepEqual(counts(budget({ minAvailable: 0 }), []), [0, 0, 0, 0]);
  });
  it('counts pods as away that were evicted a moment ago', () => {
    const b = budget({ minAvailable: 1 }, { x: '2026-01-01T00:09:00Z', y: '2026-01-01T00:01:00Z', gone: '' });
    const outcome = budgetStatus(b, { pods: [pod('x'), pod('y')], scale: 0, now });
    assert.deepEqual(outcome.status.disruptedPods, { x: '2026-01-01T00:09:00Z' });
    assert.equal(outcome.status.currentHealthy, 1);
    assert.equal(outcome.recheckAt, Date.parse('2026-01-01T00:11:00Z'));
    assert.deepEqual(
      outcome.notDeleted.map(({ metadata }) => metadata.name),
      ['y'],
    );
  });
  it('says so in a condition', () => {
    const { status } = budgetStatus(budget({ minAvailable: 1 }), { pods: [pod('x')], scale: 0, now });
    assert.deepEqual(status.conditions, [
      {
        type: 'DisruptionAllowed',
        status: 'False',
        reason: 'InsufficientPods',
        message: '',
        observedGeneration: 3,
        lastTransitionTime: '2026-01-01T00:10:00Z',
      },
    ]);
  });
  it('skips pods that are being deleted', () => {
    const ending = pod('x', true, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    assert.deepEqual(counts(budget({ minAvailable: 1 }), [ending, pod('y')]), [2, 1, 1, 0]);
  });
});

describe('isBudgetOf', () => {
  it('takes no pod without a selector and all with an empty one', () => {
    assert.ok(isBudgetOf(budget({}), pod('x')));
    assert.ok(!isBudgetOf(budget({ selector: undefined }), pod('x')));
    assert.ok(isBudgetOf(budget({ selector: {} }), pod('x', true, { labels: {} })));
    assert.ok(!isBudgetOf(budget({}), pod('x', true, { namespace: 'other' })));
  });
  it('asks owners only where a part or a maximum is said', () => {
    assert.ok(needsScale(budget({ minAvailable: '10%' })));
    assert.ok(!needsScale(budget({ minAvailable: 1 })));
  });
});
