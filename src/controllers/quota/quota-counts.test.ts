// What a namespace uses of a quota.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, ResourceQuota, Service } from '../../api/generated/types/core-v1.ts';
import { countedResource } from '../../component-helpers/quota-usage.ts';
import { type NamespaceContent, quotaStatus, sameAmounts } from './quota-counts.ts';

const quota = (hard: Record<string, string>, scopes?: string[]): ResourceQuota =>
  ({ metadata: { name: 'q' }, spec: { hard, scopes } }) as ResourceQuota;
const pod = (cpu?: string, phase = 'Running'): Pod =>
  ({
    metadata: { name: 'p' },
    spec: { containers: [cpu === undefined ? {} : { resources: { requests: { cpu } } }] },
    status: { phase },
  }) as unknown as Pod;
const content = (more: Partial<NamespaceContent>): NamespaceContent => ({
  pods: [],
  services: [],
  claims: [],
  count: () => 0,
  ...more,
});

describe('quotaStatus', () => {
  it('adds up pods that are not over', () => {
    const status = quotaStatus(
      quota({ pods: '5', 'requests.cpu': '2', 'count/pods': '9' }),
      content({ pods: [pod('250m'), pod('1'), pod('3', 'Failed')] }),
    );
    assert.deepEqual(status.used, { pods: '2', 'requests.cpu': '1250m', 'count/pods': '3' });
    assert.deepEqual(status.hard, { pods: '5', 'requests.cpu': '2', 'count/pods': '9' });
  });
  it('counts other kinds by name and by group', () => {
    const asked: string[] = [];
    const status = quotaStatus(
      quota({ secrets: '5', 'count/widgets.example.com': '2' }),
      content({
        count: ({ group, resource }) => {
          asked.push(`${resource}/${group}`);
          return 3;
        },
      }),
    );
    assert.deepEqual(status.used, { secrets: '3', 'count/widgets.example.com': '3' });
    assert.deepEqual(asked, ['secrets/', 'widgets/example.com']);
  });
  it('keeps the last number of a kind that does not answer', () => {
    const before = { ...quota({ 'count/a.b': '5' }), status: { used: { 'count/a.b': '4' } } };
    assert.deepEqual(quotaStatus(before, content({ count: () => undefined })).used, { 'count/a.b': '4' });
  });
  it('takes only pods of its scopes, and nothing else', () => {
    const best = quota({ pods: '5', services: '1', secrets: '2' }, ['BestEffort']);
    const found = content({ pods: [pod(), pod('1')], services: [{} as Service], count: () => 7 });
    assert.deepEqual(quotaStatus(best, found).used, { pods: '1', services: '0', secrets: '0' });
  });
});

describe('countedResource', () => {
  it('reads names', () => {
    assert.deepEqual(countedResource('count/jobs.batch'), { group: 'batch', resource: 'jobs' });
    assert.deepEqual(countedResource('configmaps'), { group: '', resource: 'configmaps' });
    assert.equal(countedResource('requests.cpu'), undefined);
    assert.equal(countedResource('constructor'), undefined);
  });
});

describe('sameAmounts', () => {
  it('compares amounts and not texts', () => {
    assert.ok(sameAmounts({ cpu: '1' }, { cpu: '1000m' }));
    assert.ok(!sameAmounts({ cpu: '1' }, { cpu: '2' }));
    assert.ok(!sameAmounts({ cpu: '1' }, undefined));
  });
});
