// The arithmetic of rollouts.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Deployment, ReplicaSet } from '../../api/generated/types/apps-v1.ts';
import {
  desiredAnnotation,
  maxAnnotation,
  maxSurgeOf,
  maxUnavailableOf,
  newReplicaSetSize,
  oldReplicaSetSizes,
  proportionalSizes,
} from './replica-counts.ts';

const deployment = (
  replicas: number,
  maxSurge: number | string = '25%',
  maxUnavailable: number | string = '25%',
  type = 'RollingUpdate',
): Deployment =>
  ({
    metadata: { name: 'd' },
    spec: { replicas, strategy: { type, rollingUpdate: { maxSurge, maxUnavailable } } },
  }) as unknown as Deployment;
const set = (name: string, replicas: number, available: number, max?: number): ReplicaSet =>
  ({
    metadata: {
      name,
      creationTimestamp: `2026-01-01T00:00:0${name.slice(-1)}Z`,
      annotations: max === undefined ? {} : { [maxAnnotation]: String(max), [desiredAnnotation]: '0' },
    },
    spec: { replicas },
    status: { replicas, availableReplicas: available },
  }) as unknown as ReplicaSet;
const named = (sizes: ReadonlyMap<ReplicaSet, number>): Record<string, number> =>
  Object.fromEntries([...sizes].map(([rs, size]) => [rs.metadata.name, size]));

describe('rollout limits', () => {
  it('round the surge up and the unavailability down, and leave room for one step', () => {
    const limits = (d: Deployment): number[] => [maxSurgeOf(d), maxUnavailableOf(d)];
    assert.deepEqual(limits(deployment(10)), [3, 2]);
    assert.deepEqual(limits(deployment(3)), [1, 0]);
    assert.deepEqual(limits(deployment(1, 0, '10%')), [0, 1]);
    assert.deepEqual(limits(deployment(2, 0, 5)), [0, 2]);
    assert.deepEqual(limits(deployment(0)), [0, 0]);
    assert.deepEqual(limits(deployment(10, '25%', '25%', 'Recreate')), [0, 0]);
  });
});

describe('newReplicaSetSize', () => {
  it('grows only as far as the surge allows', () => {
    assert.equal(newReplicaSetSize(deployment(10), [set('r1', 10, 10)], 0), 3);
    assert.equal(newReplicaSetSize(deployment(10), [set('r1', 8, 8), set('r2', 3, 1)], 3), 5);
    assert.equal(newReplicaSetSize(deployment(10), [set('r1', 10, 10), set('r2', 3, 0)], 3), 3);
    assert.equal(newReplicaSetSize(deployment(10), [], 0), 10);
    assert.equal(newReplicaSetSize(deployment(4, 0, 1, 'Recreate'), [set('r1', 0, 0)], 0), 4);
  });
});

describe('oldReplicaSetSizes', () => {
  const sizes = (
    d: Deployment,
    newRS: ReplicaSet | undefined,
    ...old: ReplicaSet[]
  ): Record<string, number> => named(oldReplicaSetSizes(d, newRS, old));
  it('keeps the availability that is promised', () => {
    assert.deepEqual(sizes(deployment(10), set('r2', 3, 0), set('r1', 10, 10)), { r1: 8 });
    assert.deepEqual(sizes(deployment(10), set('r2', 5, 3), set('r1', 8, 8)), { r1: 5 });
    assert.deepEqual(sizes(deployment(3), set('r2', 1, 0), set('r1', 3, 3)), {});
    assert.deepEqual(sizes(deployment(3), set('r2', 1, 1), set('r1', 3, 3)), { r1: 2 });
  });
  it('takes away first what does not work anyway', () => {
    assert.deepEqual(sizes(deployment(10), set('r3', 0, 0), set('r1', 5, 5), set('r2', 8, 0)), {
      r2: 3,
    });
  });
  it('takes nothing while a status still counts pods that were taken', () => {
    assert.deepEqual(sizes(deployment(4, 2, 0), set('r2', 3, 2), set('r1', 3, 4)), {});
    assert.deepEqual(sizes(deployment(4, 2, 0), set('r2', 3, 2), set('r1', 3, 3)), { r1: 2 });
  });
  it('does nothing when the new pods are what is missing', () => {
    assert.deepEqual(sizes(deployment(4, 0, 1), set('r2', 4, 0), set('r1', 3, 3)), {});
  });
});

describe('proportionalSizes', () => {
  it('shares new replicas by size, and gives the rest to the largest', () => {
    const grown = named(
      proportionalSizes(deployment(20, 0, 1), [
        set('r1', 5, 5, 10),
        set('r2', 3, 3, 10),
        set('r3', 2, 2, 10),
      ]),
    );
    assert.deepEqual(grown, { r1: 10, r2: 6, r3: 4 });
  });
  it('takes replicas away by size', () => {
    const shrunk = named(proportionalSizes(deployment(5, 0, 1), [set('r1', 8, 8, 10), set('r2', 2, 2, 10)]));
    assert.deepEqual(shrunk, { r1: 4, r2: 1 });
  });
  it('brings all to nothing for a deployment of nothing', () => {
    assert.deepEqual(named(proportionalSizes(deployment(0), [set('r1', 3, 3, 4), set('r2', 1, 1, 4)])), {
      r1: 0,
      r2: 0,
    });
  });
});
