// When a Job began and when it ended.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Job } from '../../api/generated/types/batch-v1.ts';
import { countPods } from './job-plan.ts';
import { jobStatus } from './job-status.ts';

const now = Date.parse('2026-01-01T01:00:00Z');
const suspended = { type: 'Suspended', status: 'True' };
const done = { type: 'Complete', reason: 'CompletionsReached', message: 'Reached' } as const;
const statusOf = (spec: object, status: object, outcome?: Parameters<typeof jobStatus>[2]) => {
  const job = { metadata: { name: 'j' }, spec: { completions: 1, ...spec }, status } as unknown as Job;
  return jobStatus(job, countPods({ job, pods: [], released: new Set(), now }), outcome, now);
};

test('a job begins when it is first seen, and keeps that time', () => {
  assert.equal(statusOf({}, {}).startTime, '2026-01-01T01:00:00Z');
  assert.equal(statusOf({}, { startTime: '2026-01-01T00:00:00Z' }).startTime, '2026-01-01T00:00:00Z');
});

test('a suspended job has no start, and a resumed one begins anew, whatever it had', () => {
  const held = statusOf({ suspend: true }, { startTime: '2026-01-01T00:00:00Z' });
  assert.equal(held.startTime, undefined);
  assert.deepEqual(
    held.conditions?.map(({ type, status }) => ({ type, status })),
    [suspended],
  );
  for (const startTime of [undefined, '2026-01-01T00:00:00Z', '2999-01-01T00:00:00Z']) {
    const resumed = statusOf({ suspend: false }, { startTime, conditions: [suspended] });
    assert.equal(resumed.startTime, '2026-01-01T01:00:00Z');
    assert.equal(resumed.conditions?.[0]?.status, 'False');
  }
});

test('a clock that was set back to before its start does not make it end before that', () => {
  const startTime = '2999-01-01T00:00:00Z';
  assert.equal(statusOf({}, { startTime }, done).completionTime, startTime);
  const before = { startTime: '2026-01-01T00:00:00Z' };
  assert.equal(statusOf({}, before, done).completionTime, '2026-01-01T01:00:00Z');
});
