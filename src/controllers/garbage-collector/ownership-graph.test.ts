// The graph of owners under events in any order.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configmaps, pods, replicasets } from '../../api/generated/resources.ts';
import type { ObjectMeta } from '../../api/generated/types/meta-v1.ts';
import { blockingDependents, type Consequences, OwnershipGraph } from './ownership-graph.ts';

const graph = (): OwnershipGraph =>
  new OwnershipGraph(({ kind }) =>
    kind === 'ReplicaSet' ? replicasets : kind === 'ConfigMap' ? configmaps : undefined,
  );
const owner = (uid: string, more: Partial<ObjectMeta> = {}): ObjectMeta => ({
  name: uid,
  namespace: 'n',
  uid,
  ...more,
});
const child = (uid: string, ownerUid: string, more: Partial<ObjectMeta> = {}): ObjectMeta => ({
  ...owner(uid, more),
  ownerReferences: [
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: ownerUid, uid: ownerUid, blockOwnerDeletion: true },
  ],
});
const names = ({ attemptToDelete, attemptToOrphan }: Consequences): string[] => [
  ...attemptToDelete.map((node) => `delete ${node.name}`),
  ...attemptToOrphan.map((node) => `orphan ${node.name}`),
];
const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z' };

describe('OwnershipGraph', () => {
  it('looks at dependents when their owner goes', () => {
    const g = graph();
    g.set(replicasets, owner('rs'));
    assert.deepEqual(names(g.set(pods, child('p1', 'rs'))), []);
    g.set(pods, child('p2', 'rs'));
    assert.deepEqual(names(g.remove('rs')), ['delete p1', 'delete p2']);
    g.remove('p1');
    g.remove('p2');
    assert.equal(g.size, 0);
  });

  it('looks at an object whose owner is not known, and keeps a place for that owner', () => {
    const g = graph();
    assert.deepEqual(names(g.set(pods, child('p', 'rs'))), ['delete p']);
    assert.equal(g.node('rs')?.virtual, true);
    g.set(replicasets, owner('rs'));
    assert.equal(g.node('rs')?.virtual, false);
    assert.deepEqual(names(g.remove('rs')), ['delete p']);
  });

  it('looks again at those who named their owner wrongly', () => {
    const g = graph();
    g.set(pods, child('p', 'rs'));
    assert.deepEqual(names(g.set(replicasets, owner('rs', { namespace: 'other' }))), ['delete p']);
  });

  it('lets an owner that is deleted in the foreground wait for what blocks it', () => {
    const g = graph();
    g.set(replicasets, owner('rs'));
    g.set(pods, child('p', 'rs'));
    const waiting = owner('rs', { ...deleted, finalizers: ['foregroundDeletion'] });
    assert.deepEqual(names(g.set(replicasets, waiting)), ['delete p', 'delete rs']);
    assert.deepEqual(names(g.set(replicasets, waiting)), []);
    assert.deepEqual(
      blockingDependents(g.node('rs')!).map((node) => node.name),
      ['p'],
    );
    assert.deepEqual(names(g.remove('p')), ['delete rs']);
    assert.deepEqual(blockingDependents(g.node('rs')!), []);
  });

  it('looks at an owner again when a dependent stops blocking it', () => {
    const g = graph();
    g.set(replicasets, owner('rs'));
    const p = child('p', 'rs');
    g.set(pods, p);
    g.set(replicasets, owner('rs', { ...deleted, finalizers: ['foregroundDeletion'] }));
    const freed = { ...p, ownerReferences: [{ ...p.ownerReferences![0]!, blockOwnerDeletion: false }] };
    assert.ok(names(g.set(pods, freed)).includes('delete rs'));
  });

  it('orphans once', () => {
    const g = graph();
    g.set(replicasets, owner('rs'));
    const orphaning = owner('rs', { ...deleted, finalizers: ['orphan'] });
    assert.deepEqual(names(g.set(replicasets, orphaning)), ['orphan rs']);
    assert.deepEqual(names(g.set(replicasets, orphaning)), []);
  });
});
