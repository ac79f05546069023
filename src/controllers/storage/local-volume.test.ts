// Volumes that are directories of nodes.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PersistentVolumeClaim } from '../../api/generated/types/core-v1.ts';
import type { StorageClass } from '../../api/generated/types/storage-v1.ts';
import { localVolume } from './local-volume.ts';

const claim = {
  metadata: { name: 'data-db-0', namespace: 'n', uid: 'u1' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } },
} as PersistentVolumeClaim;
const storageClass = (path?: string): StorageClass =>
  ({
    metadata: { name: 'local-path' },
    provisioner: 'porthole.dev/local-path',
    ...(path === undefined ? {} : { parameters: { path } }),
  }) as StorageClass;

describe('localVolume', () => {
  it('is a directory of its own, kept for the claim and tied to the node', () => {
    const { metadata, spec } = localVolume(claim, storageClass('/srv/volumes/'), 'a');
    assert.equal(metadata.name, 'pvc-u1');
    assert.deepEqual(spec?.hostPath, {
      path: '/srv/volumes/pvc-u1_n_data-db-0',
      type: 'DirectoryOrCreate',
    });
    assert.equal(spec?.claimRef?.uid, 'u1');
    assert.deepEqual(spec?.capacity, { storage: '2Gi' });
    assert.deepEqual(spec?.nodeAffinity?.required?.nodeSelectorTerms[0]?.matchExpressions?.[0]?.values, [
      'a',
    ]);
  });
  it('refuses roots that are no absolute path or lead elsewhere', () => {
    for (const path of ['srv', '/srv/../etc', '/', '/a\0b'])
      assert.throws(() => localVolume(claim, storageClass(path), 'a'), /is no absolute path/);
  });
});
