// What a pod waits for before its claims let it be placed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolumeClaim, Pod } from '../../api/generated/types/core-v1.ts';
import type { OwnerReference } from '../../api/generated/types/meta-v1.ts';
import { CycleState } from '../framework/cycle-state.ts';
import type { StorageView } from '../framework/storage.ts';
import { volumeBinding } from './volume-binding.ts';

const pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: { volumes: [{ name: 'eph', ephemeral: {} }] },
} as unknown as Pod;
const ownedBy = (uid: string, controller = true): OwnerReference[] => [
  { apiVersion: 'v1', kind: 'Pod', name: 'p', uid, controller },
];
const claim = (ownerReferences: OwnerReference[], more: object = {}): PersistentVolumeClaim =>
  ({
    metadata: {
      name: 'p-eph',
      namespace: 'ns',
      ownerReferences,
      annotations: { 'pv.kubernetes.io/bind-completed': 'yes' },
      ...more,
    },
    spec: { volumeName: 'pv' },
  }) as PersistentVolumeClaim;

const notOwner = 'PVC ns/p-eph was not created for pod ns/p (pod is not owner)';
const rows: readonly [PersistentVolumeClaim | undefined, said: string | undefined][] = [
  [undefined, 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-eph"'],
  [claim(ownedBy('u')), undefined],
  [claim(ownedBy('another')), notOwner],
  [claim(ownedBy('u', false)), notOwner],
  [claim([]), notOwner],
  [claim([], { deletionTimestamp: 'now' }), 'persistentvolumeclaim "p-eph" is being deleted'],
];

test('a generic ephemeral volume waits for the claim that was made for its pod', () => {
  for (const [there, said] of rows) {
    const view = { claim: () => there } as unknown as StorageView;
    const result = volumeBinding(undefined as never, view, { bindTimeoutSeconds: 600 }).preFilter?.(
      new CycleState(false),
      pod,
      undefined as never,
    );
    assert.deepEqual(result?.status?.reasons?.[0], said);
  }
});
