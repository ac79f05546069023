// Jobs: what is counted, what is made, when it is over.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Job } from '../../api/generated/types/batch-v1.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { countEnd, countPods, type JobCounts, outcomeOf, podChanges } from './job-plan.ts';
import { indexKey, trackingFinalizer } from './job-pod.ts';

const now = Date.parse('2026-01-01T01:00:00Z');
const job = (spec: object, status: object = {}): Job =>
  ({
    metadata: { name: 'j' },
    spec: {
      parallelism: 1,
      completions: 1,
      backoffLimit: 6,
      template: { spec: { restartPolicy: 'Never', containers: [] } },
      ...spec,
    },
    status,
  }) as unknown as Job;
interface PodFacts {
  readonly phase?: string;
  readonly index?: number;
  readonly tracked?: boolean;
  readonly deleted?: boolean;
}
const pod = (
  uid: string,
  { phase = 'Running', index, tracked = true, deleted = false }: PodFacts = {},
): Pod =>
  ({
    metadata: {
      name: uid,
      uid,
      ...(tracked ? { finalizers: [trackingFinalizer] } : {}),
      ...(index === undefined ? {} : { annotations: { [indexKey]: String(index) } }),
      ...(deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: { containers: [] },
    status: { phase },
  }) as unknown as Pod;
const counts = (j: Job, pods: readonly Pod[], released: string[] = []): JobCounts =>
  countPods({ job: j, pods, released: new Set(released), now });
const summary = (c: JobCounts): unknown => [c.active.length, c.succeeded, c.failed, c.uncounted];

describe('countPods', () => {
  it('counts a pod once: when it ends, when it is written down, and when it is let go', () => {
    const done = pod('a', { phase: 'Succeeded' });
    const none = { succeeded: [], failed: [] };
    const ended = counts(job({}), [done]);
    assert.deepEqual(summary(ended), [0, 1, 0, { succeeded: ['a'], failed: [] }]);
    const written = job({}, { uncountedTerminatedPods: { succeeded: ['a'] } });
    assert.deepEqual(summary(counts(written, [done])), [0, 1, 0, { succeeded: ['a'], failed: [] }]);
    const free = pod('a', { phase: 'Succeeded', tracked: false });
    assert.deepEqual(summary(counts(written, [free])), [0, 1, 0, none]);
    assert.deepEqual(summary(counts(written, [done], ['a'])), [0, 1, 0, none]);
    assert.deepEqual(summary(counts(written, [])), [0, 1, 0, none]);
    assert.deepEqual(summary(counts(job({}, { succeeded: 1 }), [free])), [0, 1, 0, none]);
  });
  it('takes a pod that is deleted before its end for failed', () => {
    assert.deepEqual(summary(counts(job({}), [pod('a', { deleted: true })])), [
      0,
      0,
      1,
      { succeeded: [], failed: ['a'] },
    ]);
    const patient = job({ podReplacementPolicy: 'Failed' });
    assert.deepEqual(summary(counts(patient, [pod('a', { deleted: true })])), [
      0,
      0,
      0,
      { succeeded: [], failed: [] },
    ]);
  });
  it('counts an index once', () => {
    const indexed = job(
      { completionMode: 'Indexed', completions: 3 },
      { completedIndexes: '1', succeeded: 1 },
    );
    const c = counts(indexed, [
      pod('a', { phase: 'Succeeded', index: 1 }),
      pod('b', { phase: 'Succeeded', index: 2 }),
      pod('c', { phase: 'Succeeded', index: 7 }),
    ]);
    assert.deepEqual(
      [c.succeeded, [...c.completedIndexes], c.leftOver.map((p) => p.metadata.uid)],
      [2, [1, 2], ['a', 'c']],
    );
  });
  it('gives up no index that another of its pods has completed', () => {
    const spec = { completionMode: 'Indexed', completions: 2, backoffLimitPerIndex: 0 };
    const c = counts(job(spec), [
      pod('a', { phase: 'Failed', index: 0 }),
      pod('b', { phase: 'Succeeded', index: 0 }),
      pod('c', { phase: 'Failed', index: 1 }),
    ]);
    assert.deepEqual([[...c.completedIndexes], [...c.failedIndexes]], [[0], [1]]);
  });
});

describe('podChanges', () => {
  const change = (j: Job, pods: readonly Pod[]): unknown => {
    const { create, remove } = podChanges(j, counts(j, pods), now);
    return [create, remove.map((p) => p.metadata.uid)];
  };
  it('runs no more than are missing', () => {
    assert.deepEqual(change(job({ parallelism: 3, completions: 4 }, { succeeded: 2 }), [pod('a')]), [
      [undefined],
      [],
    ]);
    assert.deepEqual(change(job({ parallelism: 1, completions: 4 }), [pod('a'), pod('b')]), [[], ['a']]);
  });
  it('gives free indexes, lowest first', () => {
    const indexed = job(
      { completionMode: 'Indexed', parallelism: 3, completions: 5 },
      { completedIndexes: '1' },
    );
    assert.deepEqual(change(indexed, [pod('a', { index: 0 }), pod('b', { index: 0 })]), [[], ['b']]);
    assert.deepEqual(change(indexed, [pod('a', { index: 0 })]), [[2, 3], []]);
  });
  it('starts no new worker of a queue once one has succeeded', () => {
    const queue = job({ parallelism: 3, completions: undefined }, { succeeded: 1 });
    assert.deepEqual(change(queue, [pod('a')]), [[], []]);
  });
  it('takes all away while suspended', () => {
    assert.deepEqual(change(job({ suspend: true }), [pod('a')]), [[], ['a']]);
  });
});

describe('outcomeOf', () => {
  const outcome = (j: Job, pods: readonly Pod[] = []): string | undefined =>
    outcomeOf(j, counts(j, pods), now)?.reason;
  it('is success, too many failures, or too late', () => {
    assert.equal(outcome(job({}, { succeeded: 1 })), 'CompletionsReached');
    assert.equal(outcome(job({ completions: undefined }, { succeeded: 1 }), [pod('a')]), undefined);
    assert.equal(outcome(job({ completions: undefined }, { succeeded: 1 })), 'CompletionsReached');
    assert.equal(outcome(job({ backoffLimit: 2 }, { failed: 2 })), undefined);
    assert.equal(outcome(job({ backoffLimit: 2 }, { failed: 3 })), 'BackoffLimitExceeded');
    const late = { startTime: '2026-01-01T00:00:00Z' };
    assert.equal(outcome(job({ activeDeadlineSeconds: 3600 }, late)), 'DeadlineExceeded');
    assert.equal(outcome(job({ activeDeadlineSeconds: 3601 }, late)), undefined);
    assert.equal(outcome(job({ activeDeadlineSeconds: 1, suspend: true }, late)), undefined);
    assert.equal(outcome(job({ activeDeadlineSeconds: 2n ** 63n - 1n }, late)), undefined);
  });
  it('is a limit before it is a success by a rule, and a success also while suspended', () => {
    const rules = { successPolicy: { rules: [{ succeededCount: 1 }] } };
    const indexed = { completionMode: 'Indexed', completions: 3, backoffLimit: 0, ...rules };
    const done = { completedIndexes: '0' };
    assert.equal(outcome(job(indexed, done)), 'SuccessPolicy');
    assert.equal(outcome(job(indexed, { ...done, failed: 1 })), 'BackoffLimitExceeded');
    assert.equal(outcome(job({ suspend: true }, { succeeded: 1 })), 'CompletionsReached');
  });
  it('stays what it was once it was decided', () => {
    const conditions = [{ type: 'FailureTarget', status: 'True', reason: 'DeadlineExceeded', message: 'm' }];
    assert.equal(outcome(job({}, { succeeded: 1, conditions })), 'DeadlineExceeded');
  });
});

describe('countEnd', () => {
  const ended = (type: 'Complete' | 'Failed', pods: readonly Pod[], spec: object = {}): JobCounts => {
    const j = job(spec);
    return countEnd(j, counts(j, pods), { type, reason: '', message: '' });
  };
  const namesOf = (pods: readonly Pod[]): unknown => pods.map((p) => p.metadata.uid);
  it('what still runs has failed with the job, and counts for nothing when it succeeds', () => {
    const pods = [pod('a'), pod('b')];
    const failed = ended('Failed', pods);
    assert.deepEqual([failed.failed, failed.uncounted.failed, failed.leftOver], [2, ['a', 'b'], []]);
    const complete = ended('Complete', pods);
    assert.deepEqual([complete.failed, namesOf(complete.leftOver)], [0, ['a', 'b']]);
  });
  it('is not full until there are more than one status can name', () => {
    const many = Array.from({ length: 501 }, (_, i) => pod(`p${i}`));
    assert.deepEqual([ended('Failed', many).failed, ended('Failed', many).isFull], [500, true]);
    assert.equal(ended('Failed', many.slice(1)).isFull, false);
    const done = many.map((p) => ({ ...p, status: { phase: 'Succeeded' } }) as Pod);
    assert.deepEqual([counts(job({}), done).succeeded, counts(job({}), done).isFull], [500, true]);
  });
});
