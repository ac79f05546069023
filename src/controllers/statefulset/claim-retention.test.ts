// Who owns a claim: each policy, while its pod is wanted and when it is not, and with owners that are in the way.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StatefulSet } from '../../api/generated/types/apps-v1.ts';
import type { PersistentVolumeClaim, Pod } from '../../api/generated/types/core-v1.ts';
import type { OwnerReference } from '../../api/generated/types/meta-v1.ts';
import { claimOwners, hasOtherController, isStaleClaim } from './claim-retention.ts';

const setOf = ([whenDeleted, whenScaled]: readonly [string, string]): StatefulSet =>
  ({
    metadata: { name: 's', namespace: 'n', uid: 'set' },
    spec: { replicas: 2, persistentVolumeClaimRetentionPolicy: { whenDeleted, whenScaled } },
  }) as StatefulSet;
const podOf = (ordinal: number): Pod =>
  ({ metadata: { name: `s-${ordinal}`, namespace: 'n', uid: `pod-${ordinal}` } }) as Pod;
const owner = (kind: string, name: string, uid: string, controller = true): OwnerReference => ({
  apiVersion: kind === 'StatefulSet' ? 'apps/v1' : 'v1',
  kind,
  name,
  uid,
  controller,
  blockOwnerDeletion: true,
});
const claimOf = (...ownerReferences: OwnerReference[]): PersistentVolumeClaim =>
  ({ metadata: { name: 'c', ownerReferences } }) as PersistentVolumeClaim;
const uids = (...args: Parameters<typeof claimOwners>): string[] | undefined =>
  claimOwners(...args)?.map(({ uid }) => uid);
const policies = [
  ['Retain', 'Retain'],
  ['Delete', 'Retain'],
  ['Retain', 'Delete'],
  ['Delete', 'Delete'],
] as const;

test('a claim is of the set, of the pod that is scaled away, or of nobody, as the policy says', () => {
  const ofOthers = policies.map((policy) =>
    [podOf(1), podOf(2)].map((pod) => uids(setOf(policy), pod, claimOf())),
  );
  assert.deepEqual(ofOthers, [
    [undefined, undefined],
    [['set'], ['set']],
    [undefined, ['pod-2']],
    [['set'], ['pod-2']],
  ]);
});

test('what it has already is not written again, and what it has no more is taken away', () => {
  for (const policy of policies)
    for (const pod of [podOf(1), podOf(2)])
      for (const before of [
        claimOf(),
        claimOf(owner('StatefulSet', 's', 'set')),
        claimOf(owner('Pod', 's-2', 'pod-2')),
      ]) {
        const set = setOf(policy);
        const owners = claimOwners(set, pod, before);
        if (owners !== undefined) assert.equal(claimOwners(set, pod, claimOf(...owners)), undefined);
      }
  const set = setOf(['Retain', 'Retain']);
  assert.deepEqual(uids(set, podOf(1), claimOf(owner('StatefulSet', 's', 'set'))), []);
});

test('other owners stay, but one that manages the claim leaves nothing to the set', () => {
  const set = setOf(['Delete', 'Delete']);
  const friend = owner('ConfigMap', 'x', 'friend', false);
  assert.deepEqual(uids(set, podOf(0), claimOf(friend)), ['friend', 'set']);
  const other = owner('Backup', 'b', 'other');
  assert.equal(hasOtherController(set, podOf(0), claimOf(other)), true);
  assert.equal(uids(set, podOf(0), claimOf(other)), undefined);
  assert.deepEqual(uids(set, podOf(0), claimOf(other, owner('StatefulSet', 's', 'set'))), ['other']);
});

test('an owner that had the name before is taken away, and the next pod waits for such a claim to be gone', () => {
  const set = setOf(['Delete', 'Delete']);
  const former = claimOf(owner('Pod', 's-2', 'former'));
  assert.deepEqual(uids(set, podOf(2), former), []);
  assert.equal(isStaleClaim(former, 's-2'), true);
  assert.equal(isStaleClaim(former, 's-1'), false);
  assert.equal(isStaleClaim(claimOf(owner('StatefulSet', 's-2', 'set')), 's-2'), false);
});
