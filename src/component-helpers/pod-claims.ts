// Which claims a pod uses.
import type { Pod } from '../api/generated/types/core-v1.ts';

/** Names of the claims, those of generic ephemeral volumes too. */
export function claimsOf(pod: Pod): string[] {
  const names: string[] = [];
  for (const volume of pod.spec.volumes ?? []) {
    if (volume.persistentVolumeClaim !== undefined) names.push(volume.persistentVolumeClaim.claimName);
    else if (volume.ephemeral !== undefined) names.push(`${pod.metadata.name}-${volume.name}`);
  }
  return names;
}

/** A pod without a node does not hold its claims: no kubelet starts a pod whose claim is going away. */
export const usesClaim = (pod: Pod, claim: string): boolean =>
  (pod.spec.nodeName ?? '') !== '' && claimsOf(pod).includes(claim);
