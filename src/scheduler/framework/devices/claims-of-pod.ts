// The resource claims that a pod names, or that were made for it.
import type { Pod } from '../../../api/generated/types/core-v1.ts';
import type { ResourceClaim } from '../../../api/generated/types/resource-v1.ts';

export type FindClaim = (name: string, namespace: string) => ResourceClaim | undefined;

/** Names, with whether the claim must be the pod's own; a text says why there is none yet. */
function claimNames({
  metadata,
  spec,
  status,
}: Pod): { readonly name: string; readonly isOwn: boolean }[] | string {
  const names: { name: string; isOwn: boolean }[] = [];
  for (const { name, resourceClaimName, resourceClaimTemplateName } of spec.resourceClaims ?? []) {
    const shown = `pod "${metadata.namespace}/${metadata.name}"`;
    if (resourceClaimName !== undefined) {
      names.push({ name: resourceClaimName, isOwn: false });
      continue;
    }
    if (resourceClaimTemplateName === undefined)
      return `${shown}, spec.resourceClaim ${name}: none of the supported fields are set`;
    const made = status?.resourceClaimStatuses?.find((one) => one.name === name);
    if (made === undefined) return `${shown}: ResourceClaim not created yet`;
    // It needs none after all.
    if (made.resourceClaimName !== undefined) names.push({ name: made.resourceClaimName, isOwn: true });
  }
  return names;
}

export function claimsOfPod(pod: Pod, find: FindClaim): ResourceClaim[] | string {
  const names = claimNames(pod);
  if (typeof names === 'string') return names;
  const { name: podName, namespace = '', uid } = pod.metadata;
  const claims: ResourceClaim[] = [];
  for (const { isOwn, name } of names) {
    const claim = find(name, namespace);
    if (claim === undefined) return `could not find v1.ResourceClaim "${namespace}/${name}"`;
    if (claim.metadata.deletionTimestamp !== undefined)
      return `resourceclaim ${JSON.stringify(name)} is being deleted`;
    if (
      isOwn &&
      !(claim.metadata.ownerReferences ?? []).some((owner) => owner.controller && owner.uid === uid)
    )
      return `ResourceClaim ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`;
    claims.push(claim);
  }
  return claims;
}
