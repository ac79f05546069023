// Finalizers come and go with use.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { claimsOf, usesClaim } from '../../component-helpers/pod-claims.ts';
import { finalizersDue } from './protect.ts';

const f = 'kubernetes.io/pvc-protection';
const deletionTimestamp = '2026-01-01T00:00:00Z';

describe('finalizersDue', () => {
  it('adds the finalizer to what lives and has none', () => {
    assert.deepEqual(finalizersDue({ metadata: {} }, f, false), [f]);
    assert.equal(finalizersDue({ metadata: { finalizers: [f] } }, f, false), undefined);
  });
  it('takes it off what is to go and is not used, and only that', () => {
    const metadata = { deletionTimestamp, finalizers: ['other', f] };
    assert.deepEqual(finalizersDue({ metadata }, f, false), ['other']);
    assert.equal(finalizersDue({ metadata }, f, true), undefined);
    assert.equal(finalizersDue({ metadata: { deletionTimestamp } }, f, false), undefined);
  });
});

describe('claimsOf', () => {
  const pod = (nodeName?: string): Pod =>
    ({
      metadata: { name: 'p' },
      spec: {
        nodeName,
        containers: [],
        volumes: [
          { name: 'a', persistentVolumeClaim: { claimName: 'data' } },
          { name: 'scratch', ephemeral: {} },
          { name: 'c', emptyDir: {} },
        ],
      },
    }) as unknown as Pod;
  it('names claims of ephemeral volumes after pod and volume', () => {
    assert.deepEqual(claimsOf(pod()), ['data', 'p-scratch']);
  });
  it('counts pods with a node only', () => {
    assert.ok(usesClaim(pod('n1'), 'data'));
    assert.ok(!usesClaim(pod(), 'data'));
    assert.ok(!usesClaim(pod('n1'), 'other'));
  });
});
