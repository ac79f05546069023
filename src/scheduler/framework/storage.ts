// What plugins know of claims, volumes and what nodes can attach, and when a change of those concerns a pod.
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/generated/types/core-v1.ts';
import type { CSINode, StorageClass, VolumeAttachment } from '../../api/generated/types/storage-v1.ts';
import { claimsOf } from '../../component-helpers/pod-claims.ts';
import type { ClusterEvent, Hint } from './plugin.ts';

export interface StorageView {
  claim(name: string, namespace: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  volumes(): readonly PersistentVolume[];
  storageClass(name: string): StorageClass | undefined;
  csiNode(name: string): CSINode | undefined;
  attachments(node: string): readonly VolumeAttachment[];
  /** Resolves with true when `isDone` says so after a change, with false when it took too long. */
  until(isDone: () => boolean, mostMs: number): Promise<boolean>;
}

export const volumeEvents: readonly ClusterEvent[] = [
  'PersistentVolumeAdd',
  'PersistentVolumeUpdate',
  'storage.k8s.io/StorageClassAdd',
  'storage.k8s.io/StorageClassUpdate',
];

const uses = (pod: Pod, claim: PersistentVolumeClaim | undefined): boolean =>
  claim === undefined ||
  (claim.metadata.namespace === pod.metadata.namespace && claimsOf(pod).includes(claim.metadata.name));

/** A claim that the pod does not name is not what it waits for. */
export const ofOwnClaim: Hint = {
  on: ['PersistentVolumeClaimAdd', 'PersistentVolumeClaimUpdate'],
  helps: (pod, { claim }) => uses(pod, claim),
};
