// Which claims a pod uses.
import type { PersistentVolumeClaim, Pod, Volume } from '../api/generated/types/core-v1.ts';

/** The name of the claim that a volume leads to; undefined: to none. That of a generic ephemeral volume is the pod's and its own. */
export function claimOf(pod: Pod, { name, persistentVolumeClaim, ephemeral }: Volume): string | undefined {
  if (persistentVolumeClaim !== undefined) return persistentVolumeClaim.claimName;
  return ephemeral === undefined ? undefined : `${pod.metadata.name}-${name}`;
}

/** Names of the claims, those of generic ephemeral volumes too. */
export const claimsOf = (pod: Pod): string[] =>
  (pod.spec.volumes ?? []).flatMap((volume) => claimOf(pod, volume) ?? []);

/** Why a claim is not that of a pod's ephemeral volume: anybody may have made one of that name. Undefined: it is. */
export function foreignClaim(
  { metadata: pod }: Pod,
  { metadata }: PersistentVolumeClaim,
): string | undefined {
  const controller = metadata.ownerReferences?.find((reference) => reference.controller === true);
  return controller !== undefined && controller.uid === pod.uid
    ? undefined
    : `PVC ${metadata.namespace}/${metadata.name} was not created for pod ${pod.namespace}/${pod.name} (pod is not owner)`;
}

/** A pod without a node does not hold its claims: no kubelet starts a pod whose claim is going away. */
export const usesClaim = (pod: Pod, claim: string): boolean =>
  (pod.spec.nodeName ?? '') !== '' && claimsOf(pod).includes(claim);
