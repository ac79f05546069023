// Names of claims, who holds them, and when one goes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { ResourceClaim } from '../../api/generated/types/resource-v1.ts';
import {
  claimFor,
  claimNameOf,
  finalizersLeft,
  isUnused,
  owningPod,
  reservedBy,
  withoutConsumers,
} from './claim-plan.ts';

const podOf = (name: string, more: object = {}): Pod =>
  ({ metadata: { name, namespace: 'n', uid: name }, spec: { containers: [] }, ...more }) as unknown as Pod;
const entry = (name: string): { name: string; resourceClaimTemplateName: string } => ({
  name,
  resourceClaimTemplateName: 't',
});
const consumer = (uid: string): object => ({ resource: 'pods', name: uid, uid });
const claimOf = (status: object, metadata: object = {}): ResourceClaim =>
  ({ metadata: { name: 'c', namespace: 'n', ...metadata }, status }) as unknown as ResourceClaim;
const kept = { finalizers: ['resource.kubernetes.io/delete-protection', 'other'] };
const allocation = { devices: {} };

test('a long name of a pod leaves room for that of the entry', () => {
  const nameOf = (pod: string, name: string): string =>
    (claimFor(podOf(pod), entry(name), { spec: { spec: {} } } as never).metadata as { generateName: string })
      .generateName;
  assert.equal(nameOf('web', 'gpu'), 'web-gpu-');
  const long = nameOf('p'.repeat(100), 'g'.repeat(100));
  assert.ok(long.length <= 57 && /^p+-g+$/.test(long), long);
});

test('an entry is a claim of its own name, one that was made for it, none, or not known yet', () => {
  const statuses = [{ name: 'made', resourceClaimName: 'p-made-1' }, { name: 'needless' }];
  const pod = podOf('p', { status: { resourceClaimStatuses: statuses } });
  assert.deepEqual(claimNameOf(pod, { name: 'x', resourceClaimName: 'shared' }), {
    name: 'shared',
    isGenerated: false,
  });
  assert.deepEqual(claimNameOf(pod, entry('made')), { name: 'p-made-1', isGenerated: true });
  assert.equal(claimNameOf(pod, entry('needless')), 'none');
  assert.equal(claimNameOf(pod, entry('new')), 'unknown');
});

test('only what is allocated is held, once by each pod and by so many', () => {
  assert.equal(reservedBy(claimOf({}), podOf('p')), undefined);
  const held = reservedBy(claimOf({ allocation }), podOf('p'));
  assert.deepEqual(held?.status?.reservedFor, [consumer('p')]);
  assert.equal(reservedBy(held!, podOf('p')), undefined);
  const many = Array.from({ length: 256 }, (_, i) => consumer(`q${i}`));
  assert.equal(reservedBy(claimOf({ allocation, reservedFor: many }), podOf('p')), undefined);
});

test('with its last holder a claim loses its devices, and then what kept it', () => {
  const claim = claimOf({ allocation, reservedFor: [consumer('a'), consumer('b')] }, kept);
  const one = withoutConsumers(claim, ({ uid }) => uid === 'a');
  assert.deepEqual(one?.status, { allocation, reservedFor: [consumer('b')] });
  assert.equal(finalizersLeft(one!, true), undefined);
  const none = withoutConsumers(claim, () => true);
  assert.deepEqual(none?.status, {});
  assert.deepEqual(finalizersLeft(none!, true), ['other']);
  assert.equal(
    withoutConsumers(claim, () => false),
    undefined,
  );
});

test('what nobody ever held stays allocated until it is to be deleted', () => {
  const claim = claimOf({ allocation }, kept);
  assert.equal(
    withoutConsumers(claim, () => true),
    undefined,
  );
  assert.equal(finalizersLeft(claim, false), undefined);
  const leaving = claimOf({ allocation }, { ...kept, deletionTimestamp: '2026-01-01T00:00:00Z' });
  assert.deepEqual(withoutConsumers(leaving, () => true)?.status, {});
});

test('a claim of a pod that is done or was made anew is of no use, one that is held or of a pod nobody knows stays', () => {
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'p', controller: true };
  const claim = claimOf({}, { ownerReferences: [owner] });
  assert.equal(owningPod(claim), 'p');
  assert.equal(isUnused(claim, podOf('p')), false);
  assert.equal(isUnused(claim, podOf('p', { status: { phase: 'Failed' } })), true);
  assert.equal(isUnused(claim, { ...podOf('p'), metadata: { ...podOf('p').metadata, uid: 'next' } }), true);
  assert.equal(isUnused(claim, undefined), false);
  const held = claimOf({ reservedFor: [consumer('p')] }, { ownerReferences: [owner] });
  assert.equal(isUnused(held, podOf('p', { status: { phase: 'Failed' } })), false);
});
