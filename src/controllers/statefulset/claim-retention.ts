// Who owns the claims of a StatefulSet's pods: by its persistentVolumeClaimRetentionPolicy the set, a pod, or nobody. Pure.
import { pods, statefulsets } from '../../api/generated/resources.ts';
import type { StatefulSet } from '../../api/generated/types/apps-v1.ts';
import type { PersistentVolumeClaim, Pod } from '../../api/generated/types/core-v1.ts';
import type { OwnerReference } from '../../api/generated/types/meta-v1.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import { controllerReference, groupOf, type Owned } from '../../controller-runtime/owner-reference.ts';
import { ordinalOf, startOf } from './stateful-pod.ts';

/** Of that kind and name: the object, or another that had its name before. */
const names = (
  { apiVersion, kind, name }: OwnerReference,
  { group, ...one }: ResourceRef,
  object: Owned,
): boolean => kind === one.kind && groupOf(apiVersion) === group && name === object.metadata.name;

const refersTo = (claim: PersistentVolumeClaim, object: Owned): boolean =>
  (claim.metadata.ownerReferences ?? []).some(({ uid }) => uid === object.metadata.uid);

/** A claim of an object of this name that is gone: it goes as well, as soon as the garbage collector sees it. */
const isOfFormer = (claim: PersistentVolumeClaim, resource: ResourceRef, object: Owned): boolean =>
  (claim.metadata.ownerReferences ?? []).some(
    (reference) => names(reference, resource, object) && reference.uid !== object.metadata.uid,
  );

/** A claim of a pod that was scaled away: the next pod of the name waits until it is gone. */
export const isStaleClaim = (claim: PersistentVolumeClaim, podName: string): boolean =>
  isOfFormer(claim, pods, { metadata: { name: podName } });

export const isDeletedWhenScaled = ({ spec }: StatefulSet): boolean =>
  spec.persistentVolumeClaimRetentionPolicy?.whenScaled === 'Delete';

function isCondemned(set: StatefulSet, pod: Pod): boolean {
  const ordinal = ordinalOf(set, pod);
  return ordinal < startOf(set) || ordinal >= startOf(set) + (set.spec.replicas ?? 1);
}

/** Somebody else manages it, or an object that had the name of ours before: the claim is not ours to give. */
export const hasOtherController = (set: StatefulSet, pod: Pod, claim: PersistentVolumeClaim): boolean =>
  (claim.metadata.ownerReferences ?? []).some((reference) => {
    if (names(reference, statefulsets, set)) return reference.uid !== set.metadata.uid;
    if (names(reference, pods, pod)) return reference.uid !== pod.metadata.uid;
    return reference.controller === true;
  });

function ownersBy(set: StatefulSet, pod: Pod): OwnerReference[] {
  const whenDeleted = set.spec.persistentVolumeClaimRetentionPolicy?.whenDeleted === 'Delete';
  if (isDeletedWhenScaled(set) && isCondemned(set, pod)) return [controllerReference(pods, pod)];
  return whenDeleted ? [controllerReference(statefulsets, set)] : [];
}

/** The owners that a claim is to have; undefined when it has them. */
export function claimOwners(
  set: StatefulSet,
  pod: Pod,
  claim: PersistentVolumeClaim,
): OwnerReference[] | undefined {
  const { ownerReferences = [] } = claim.metadata;
  const wanted = hasOtherController(set, pod, claim) ? [] : ownersBy(set, pod);
  const isWanted = (object: Owned): boolean => wanted.some(({ uid }) => uid === object.metadata.uid);
  const isUpToDate =
    !isOfFormer(claim, statefulsets, set) &&
    !isOfFormer(claim, pods, pod) &&
    [set, pod].every((object) => refersTo(claim, object) === isWanted(object));
  if (isUpToDate) return undefined;
  const others = ownerReferences.filter(
    (reference) => !names(reference, statefulsets, set) && !names(reference, pods, pod),
  );
  return [...others, ...wanted];
}
