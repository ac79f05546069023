// Which volume a claim gets, and what becomes of volumes.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PersistentVolume, PersistentVolumeClaim } from '../api/generated/types/core-v1.ts';
import { findVolume, phaseOf } from './volume-match.ts';

const claim = (spec: object = {}): PersistentVolumeClaim =>
  ({
    metadata: { name: 'c', namespace: 'n', uid: 'u' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '5Gi' } }, ...spec },
  }) as PersistentVolumeClaim;
const volume = (name: string, storage: string, spec: object = {}, phase = 'Available'): PersistentVolume =>
  ({
    metadata: { name, labels: { disk: name } },
    spec: { capacity: { storage }, accessModes: ['ReadWriteOnce', 'ReadOnlyMany'], ...spec },
    status: { phase },
  }) as unknown as PersistentVolume;
const found = (c: PersistentVolumeClaim, volumes: PersistentVolume[], node?: string): string | undefined =>
  findVolume(c, volumes, node === undefined ? undefined : { metadata: { name: node } })?.metadata.name;

describe('findVolume', () => {
  it('takes the smallest that is large enough', () => {
    const volumes = [volume('big', '50Gi'), volume('right', '5Gi'), volume('small', '1Gi')];
    assert.equal(found(claim(), volumes), 'right');
    assert.equal(found(claim({ resources: { requests: { storage: '60Gi' } } }), volumes), undefined);
  });
  it('asks for class, modes, labels and a free volume', () => {
    assert.equal(found(claim({ storageClassName: 'fast' }), [volume('v', '9Gi')]), undefined);
    assert.equal(found(claim({ accessModes: ['ReadWriteMany'] }), [volume('v', '9Gi')]), undefined);
    assert.equal(found(claim({ volumeMode: 'Block' }), [volume('v', '9Gi')]), undefined);
    assert.equal(
      found(claim({ selector: { matchLabels: { disk: 'w' } } }), [volume('v', '9Gi'), volume('w', '9Gi')]),
      'w',
    );
    assert.equal(found(claim(), [volume('v', '9Gi', {}, 'Released')]), undefined);
  });
  it('prefers the one that is kept for it and leaves alone those kept for others', () => {
    const claimRef = { name: 'c', namespace: 'n' };
    assert.equal(found(claim(), [volume('right', '5Gi'), volume('kept', '9Gi', { claimRef })]), 'kept');
    assert.equal(found(claim(), [volume('v', '9Gi', { claimRef: { ...claimRef, uid: 'x' } })]), undefined);
  });
  it('takes none that the node can not reach', () => {
    const matchFields = [{ key: 'metadata.name', operator: 'In', values: ['a'] }];
    const nodeAffinity = { required: { nodeSelectorTerms: [{ matchFields }] } };
    assert.equal(found(claim(), [volume('v', '9Gi', { nodeAffinity })], 'a'), 'v');
    assert.equal(found(claim(), [volume('v', '9Gi', { nodeAffinity })], 'b'), undefined);
  });
});

describe('phaseOf', () => {
  it('follows the claim', () => {
    const claimRef = { name: 'c', namespace: 'n', uid: 'u' };
    assert.equal(phaseOf(volume('v', '1Gi'), undefined), 'Available');
    assert.equal(
      phaseOf(volume('v', '1Gi', { claimRef: { name: 'c', namespace: 'n' } }), claim()),
      'Available',
    );
    assert.equal(phaseOf(volume('v', '1Gi', { claimRef }), claim({ volumeName: 'v' })), 'Bound');
    assert.equal(phaseOf(volume('v', '1Gi', { claimRef }), claim({ volumeName: 'other' })), 'Released');
    assert.equal(phaseOf(volume('v', '1Gi', { claimRef }), undefined), 'Released');
  });
});
