// Which volume a claim gets. Pure.
import type { PersistentVolume, PersistentVolumeClaim } from '../api/generated/types/core-v1.ts';
import { matchesSelector, selectorFrom } from '../apimachinery/label-selector.ts';
import { compareQuantities, parseQuantity, type Quantity, zeroQuantity } from '../apimachinery/quantity.ts';
import { matchesNodeSelector, type NodeIdentity } from './node-affinity.ts';

const betaClass = 'volume.beta.kubernetes.io/storage-class';

export const classOf = (object: PersistentVolume | PersistentVolumeClaim): string =>
  object.metadata.annotations?.[betaClass] ?? object.spec?.storageClassName ?? '';

const storageOf = (amounts: object | undefined): Quantity => {
  const amount = (amounts as Record<string, string | number> | undefined)?.['storage'];
  return amount === undefined ? zeroQuantity : parseQuantity(amount);
};

/** Whether the volume is kept for this very claim; one without a uid waits for any claim of that name. */
export function isFor(volume: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const reference = volume.spec?.claimRef;
  return (
    reference !== undefined &&
    reference.name === metadata.name &&
    reference.namespace === metadata.namespace &&
    ((reference.uid ?? '') === '' || reference.uid === metadata.uid)
  );
}

/** Whether pods on a node may use the volume. */
export function isReachable(volume: PersistentVolume, node: NodeIdentity): boolean {
  const required = volume.spec?.nodeAffinity?.required;
  return required === undefined || matchesNodeSelector(required, node);
}

function fits(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const modes: readonly string[] = volume.spec?.accessModes ?? [];
  return (
    (volume.spec?.volumeMode ?? 'Filesystem') === (claim.spec?.volumeMode ?? 'Filesystem') &&
    (claim.spec?.accessModes ?? []).every((mode) => modes.includes(mode)) &&
    compareQuantities(storageOf(volume.spec?.capacity), storageOf(claim.spec?.resources?.requests)) >= 0
  );
}

/** The volume that waits for the claim, else the smallest free one that is large enough. */
export function findVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  node?: NodeIdentity,
): PersistentVolume | undefined {
  const usable = volumes.filter(
    (volume) => volume.metadata.deletionTimestamp === undefined && fits(volume, claim),
  );
  const kept = usable.find((volume) => isFor(volume, claim));
  if (kept !== undefined) return kept;
  const selector = claim.spec?.selector;
  return usable
    .filter(
      (volume) =>
        volume.spec?.claimRef === undefined &&
        volume.status?.phase === 'Available' &&
        classOf(volume) === classOf(claim) &&
        (selector === undefined || matchesSelector(selectorFrom(selector), volume.metadata.labels)) &&
        (node === undefined || isReachable(volume, node)),
    )
    .sort((a, b) => compareQuantities(storageOf(a.spec?.capacity), storageOf(b.spec?.capacity)))[0];
}

export type VolumePhase = 'Available' | 'Bound' | 'Released' | 'Failed';

/** The phase of a volume, by the claim of the name that it is kept for. */
export function phaseOf(volume: PersistentVolume, claim: PersistentVolumeClaim | undefined): VolumePhase {
  const reference = volume.spec?.claimRef;
  if (reference === undefined || (reference.uid ?? '') === '') return 'Available';
  const bound = claim?.spec?.volumeName ?? '';
  if (claim?.metadata.uid === reference.uid && (bound === '' || bound === volume.metadata.name))
    return 'Bound';
  return volume.status?.phase === 'Failed' ? 'Failed' : 'Released';
}
