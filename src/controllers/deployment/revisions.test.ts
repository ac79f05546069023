// Names, numbers and inherited annotations of replica sets.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Deployment, ReplicaSet } from '../../api/generated/types/apps-v1.ts';
import { findNewReplicaSet, newAnnotations, newReplicaSet, nextRevision } from './revisions.ts';

const d = {
  metadata: {
    name: 'web',
    namespace: 'n',
    uid: 'u',
    annotations: { team: 'a', 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
  },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
} as unknown as Deployment;

describe('newReplicaSet', () => {
  it('carries the hash in its name, labels, selector and template', () => {
    const rs = newReplicaSet(d, [], 4n);
    const hash = rs.metadata.labels?.['pod-template-hash'] ?? '';
    assert.match(hash, /^[bcdfghjklmnpqrstvwxz2456789]+$/);
    assert.equal(rs.metadata.name, `web-${hash}`);
    assert.deepEqual(rs.spec?.selector.matchLabels, { app: 'web', 'pod-template-hash': hash });
    assert.deepEqual(rs.spec?.template?.metadata?.labels, { app: 'web', 'pod-template-hash': hash });
    assert.deepEqual(rs.metadata.annotations, {
      team: 'a',
      'deployment.kubernetes.io/revision': '4',
      'deployment.kubernetes.io/desired-replicas': '3',
      'deployment.kubernetes.io/max-replicas': '3',
    });
    assert.equal(findNewReplicaSet(d, [rs]), rs);
  });
  it('has the same name however fields are ordered, another after a collision', () => {
    const { template } = d.spec;
    const turned = {
      ...d,
      spec: { ...d.spec, template: { spec: template.spec, metadata: template.metadata } },
    } as Deployment;
    assert.equal(newReplicaSet(turned, [], 1n).metadata.name, newReplicaSet(d, [], 1n).metadata.name);
    const collided = { ...d, status: { collisionCount: 1 } };
    assert.notEqual(newReplicaSet(collided, [], 1n).metadata.name, newReplicaSet(d, [], 1n).metadata.name);
  });
});

describe('newAnnotations', () => {
  const revision = 'deployment.kubernetes.io/revision';
  const history = 'deployment.kubernetes.io/revision-history';
  it('remembers the numbers of a replica set that is used again', () => {
    const first = newAnnotations(d, { [revision]: '1' }, 3n);
    assert.deepEqual([first[revision], first[history]], ['3', '1']);
    const second = newAnnotations(d, first, 5n);
    assert.deepEqual([second[revision], second[history]], ['5', '1,3']);
  });
  it('never lowers a number', () => {
    assert.equal(newAnnotations(d, { [revision]: '7' }, 3n)[revision], '7');
  });
});

describe('nextRevision', () => {
  const revision = 'deployment.kubernetes.io/revision';
  const held = (value: string): ReplicaSet => {
    const rs = newReplicaSet(d, [], 1n);
    return { ...rs, metadata: { ...rs.metadata, annotations: { [revision]: value } } };
  };
  it('is exact to the last int64, and what is no number counts for nothing', () => {
    assert.equal(nextRevision([]), 1n);
    assert.equal(nextRevision([held('2'), held('3546343826724305832'), held('+7')]), 3546343826724305833n);
    for (const bad of ['', '-5', '0x10', '1e3', ' 9', '9223372036854775808', '9'.repeat(1 << 16)])
      assert.equal(nextRevision([held(bad)]), 1n, bad.slice(0, 30));
  });
  it('is written to a replica set that had a lower one; one that is no number stays', () => {
    const next = nextRevision([held('3546343826724305832')]);
    assert.equal(newAnnotations(d, { [revision]: '1' }, next)[revision], '3546343826724305833');
    assert.equal(newAnnotations(d, { [revision]: 'x' }, next)[revision], 'x');
    const past = nextRevision([held('9223372036854775807')]);
    assert.equal(newAnnotations(d, undefined, past)[revision], undefined);
  });
});

describe('findNewReplicaSet', () => {
  it('takes the oldest of several', () => {
    const at = (seconds: number): ReplicaSet => {
      const rs = newReplicaSet(d, [], 1n);
      return { ...rs, metadata: { ...rs.metadata, creationTimestamp: `2026-01-01T00:00:0${seconds}Z` } };
    };
    const [young, old] = [at(5), at(1)];
    assert.equal(findNewReplicaSet(d, [young, old]), old);
  });
});
