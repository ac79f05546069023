// Policies of jobs: which failures count, when an index is given up, when enough has succeeded.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Job } from '../../api/generated/types/batch-v1.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { failedIndexes, failureAnnotations, indexFailures, retryAt } from './index-failures.ts';
import { countEnd, countPods, outcomeOf, podChanges } from './job-plan.ts';
import { indexedBase, indexKey, trackingFinalizer } from './job-pod.ts';
import { failureVerdict } from './pod-failure-policy.ts';
import { metSuccessRule } from './success-policy.ts';

const now = Date.parse('2026-01-01T01:00:00Z');
const job = (spec: object, status: object = {}): Job =>
  ({
    metadata: { name: 'j' },
    spec: {
      completions: 4,
      parallelism: 4,
      completionMode: 'Indexed',
      backoffLimit: 6,
      template: {},
      ...spec,
    },
    status,
  }) as unknown as Job;
const failed = (index: number, exitCode = 1, failuresBefore = 0): Pod =>
  ({
    metadata: {
      name: `p${index}`,
      namespace: 'n',
      uid: `${index}/${failuresBefore}`,
      finalizers: [trackingFinalizer],
      annotations: {
        [indexKey]: String(index),
        'batch.kubernetes.io/job-index-failure-count': String(failuresBefore),
      },
    },
    spec: { containers: [] },
    status: {
      phase: 'Failed',
      conditions: [{ type: 'DisruptionTarget', status: exitCode === 137 ? 'True' : 'False' }],
      containerStatuses: [
        { name: 'c', state: { terminated: { exitCode, finishedAt: '2026-01-01T00:59:55Z' } } },
      ],
    },
  }) as unknown as Pod;
const counts = (j: Job, pods: Pod[]): ReturnType<typeof countPods> =>
  countPods({ job: j, pods, released: new Set(), now });

describe('the policy for failed pods', () => {
  const podFailurePolicy = {
    rules: [
      { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] },
      { action: 'FailJob', onExitCodes: { containerName: 'c', operator: 'In', values: [42] } },
      { action: 'FailIndex', onExitCodes: { operator: 'In', values: [7] } },
    ],
  };
  it('takes the first rule that fits', () => {
    const j = job({ podFailurePolicy });
    assert.deepEqual(failureVerdict(j, failed(0, 137)), { action: 'Ignore' });
    assert.deepEqual(failureVerdict(j, failed(0, 7)), { action: 'FailIndex' });
    assert.deepEqual(failureVerdict(j, failed(0, 1)), { action: 'Count' });
    assert.deepEqual(failureVerdict(j, failed(0, 42)), {
      action: 'FailJob',
      message: 'Container c for pod n/p0 failed with exit code 42 matching FailJob rule at index 1',
    });
  });
  it('ends the job, or counts nothing', () => {
    const ended = counts(job({ podFailurePolicy }), [failed(0, 42)]);
    assert.equal(outcomeOf(job({ podFailurePolicy }), ended, now)?.reason, 'PodFailurePolicy');
    const ignored = counts(job({ podFailurePolicy }), [failed(0, 137)]);
    assert.deepEqual([ignored.failed, ignored.leftOver.length], [0, 1]);
    assert.deepEqual(podChanges(job({ podFailurePolicy }), ignored, now).create, [0, 1, 2, 3]);
  });
  it('never looks at containers that succeeded', () => {
    const notIn = { rules: [{ action: 'FailJob', onExitCodes: { operator: 'NotIn', values: [5] } }] };
    assert.equal(failureVerdict(job({ podFailurePolicy: notIn }), failed(0, 0)).action, 'Count');
    assert.equal(failureVerdict(job({ podFailurePolicy: notIn }), failed(0, 5)).action, 'Count');
    assert.equal(failureVerdict(job({ podFailurePolicy: notIn }), failed(0, 6)).action, 'FailJob');
  });
});

describe('a limit for each index', () => {
  const limited = job({ backoffLimitPerIndex: 1, backoffLimit: 2_147_483_647 });
  it('gives up an index and goes on with the others', () => {
    const pods = [failed(0, 1, 1), failed(1, 1, 0)];
    const failures = indexFailures(limited, pods);
    assert.deepEqual(failedIndexes(limited, pods, failures), new Set([0]));
    assert.deepEqual(podChanges(limited, counts(limited, pods), now).create, [1, 2, 3]);
    assert.deepEqual(failureAnnotations(failures.get(1)), {
      'batch.kubernetes.io/job-index-failure-count': '1',
    });
    assert.equal(retryAt(failures.get(1)!), Date.parse('2026-01-01T01:00:05Z'));
  });
  it('keeps the pod that carries the count until another is in its place', () => {
    const [first, again] = [failed(1, 1, 0), failed(1, 1, 1)];
    const twice = job({ backoffLimitPerIndex: 5, backoffLimit: 99 });
    const waiting = counts(twice, [first]);
    assert.deepEqual([waiting.failed, waiting.failures, waiting.held], [0, 1, [first]]);
    const later = counts(twice, [first, again]);
    assert.deepEqual([later.failed, later.failures, later.held], [1, 2, [again]]);
    const running = { ...failed(1, 1, 9), status: { phase: 'Running' } } as Pod;
    assert.equal(counts(twice, [first, running]).failed, 1);
    const ended = { type: 'Failed', reason: '', message: '' } as const;
    assert.equal(countEnd(twice, waiting, ended).failed, 1);
  });
  it('waits as long after failures that the policy ignores', () => {
    assert.equal(retryAt({ counted: 1, ignored: 1, lastAt: 0 }), 20_000);
    assert.equal(retryAt({ counted: 0, ignored: 1, lastAt: 0 }), 10_000);
  });
  it('fails the job when nothing is left to do, or too much failed', () => {
    const rest = job(
      { backoffLimitPerIndex: 0, backoffLimit: 99 },
      { completedIndexes: '1-3', succeeded: 3 },
    );
    assert.equal(outcomeOf(rest, counts(rest, [failed(0)]), now)?.reason, 'FailedIndexes');
    const few = job({ backoffLimitPerIndex: 0, maxFailedIndexes: 1, backoffLimit: 99 });
    assert.equal(outcomeOf(few, counts(few, [failed(0)]), now), undefined);
    assert.equal(
      outcomeOf(few, counts(few, [failed(0), failed(1)]), now)?.reason,
      'MaxFailedIndexesExceeded',
    );
  });
});

describe('metSuccessRule', () => {
  const met = (rule: object, ...done: number[]): string | undefined =>
    metSuccessRule(job({ successPolicy: { rules: [rule] } }), new Set(done));
  it('asks for indexes, a number, or a number of the indexes', () => {
    assert.equal(met({ succeededIndexes: '0,2' }, 0), undefined);
    assert.equal(met({ succeededIndexes: '0,2' }, 0, 2), 'Matched rules at index 0');
    assert.equal(met({ succeededCount: 2 }, 1, 3), 'Matched rules at index 0');
    assert.equal(met({ succeededIndexes: '0-2', succeededCount: 1 }, 3), undefined);
    assert.equal(met({ succeededIndexes: '0-2', succeededCount: 1 }, 1), 'Matched rules at index 0');
  });
});

describe('indexedBase', () => {
  it('cuts the name of the job and never the index', () => {
    assert.equal(indexedBase(job({}), 12), 'j-12-');
    const long = { ...job({}), metadata: { name: 'j'.repeat(63) } } as Job;
    assert.equal(indexedBase(long, 12), `${'j'.repeat(54)}-12-`);
  });
});
