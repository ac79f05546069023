// The life of resource claims: which a pod still misses, who may hold one, and when one goes. Pure.
import { pods } from '../../api/generated/resources.ts';
import type { Pod, PodResourceClaim } from '../../api/generated/types/core-v1.ts';
import type {
  ResourceClaim,
  ResourceClaimConsumerReference,
  ResourceClaimTemplate,
} from '../../api/generated/types/resource-v1.ts';
import { isPodTerminal, isPodTerminating } from '../../component-helpers/pod-status.ts';
import { controllerOf, controllerReference } from '../../controller-runtime/owner-reference.ts';

/** Of a claim that was made for a pod: by which of its entries. */
const podClaimAnnotation = 'resource.kubernetes.io/pod-claim-name';
const finalizer = 'resource.kubernetes.io/delete-protection';
/** As many pods can hold one claim. */
const mostConsumers = 256;
/** Of names that end in a hyphen and five random characters. */
const longestBase = 57;

/** Which claim an entry of a pod is; `unknown` while none was made from its template, `none` when it needs none. */
export function claimNameOf(
  { status }: Pod,
  entry: PodResourceClaim,
): { readonly name: string; readonly isGenerated: boolean } | 'unknown' | 'none' {
  if (entry.resourceClaimName !== undefined) return { name: entry.resourceClaimName, isGenerated: false };
  const known = status?.resourceClaimStatuses?.find(({ name }) => name === entry.name);
  if (known === undefined) return 'unknown';
  return known.resourceClaimName === undefined
    ? 'none'
    : { name: known.resourceClaimName, isGenerated: true };
}

export const isClaimOf = (pod: Pod, claim: ResourceClaim): boolean =>
  controllerOf(claim)?.uid === pod.metadata.uid;

/** It was made for this entry of this pod, perhaps before a crash that lost the pod's status. */
export const isMadeFor = (pod: Pod, entry: PodResourceClaim, claim: ResourceClaim): boolean =>
  isClaimOf(pod, claim) && claim.metadata.annotations?.[podClaimAnnotation] === entry.name;

function baseOf(podName: string, entryName: string): string {
  const whole = `${podName}-${entryName}-`;
  if (whole.length <= longestBase) return whole;
  // Each is cut by its share: of a long pod's name the entry's would be lost whole.
  const share = (text: string): string =>
    text.slice(0, Math.floor((text.length * longestBase) / whole.length));
  return `${share(podName)}-${share(entryName)}`;
}

export const claimFor = (
  pod: Pod,
  entry: PodResourceClaim,
  { spec }: ResourceClaimTemplate,
): Omit<ResourceClaim, 'metadata'> & { metadata: object } => ({
  metadata: {
    generateName: baseOf(pod.metadata.name, entry.name),
    namespace: pod.metadata.namespace,
    ...(spec.metadata?.labels === undefined ? {} : { labels: spec.metadata.labels }),
    annotations: { ...spec.metadata?.annotations, [podClaimAnnotation]: entry.name },
    ownerReferences: [controllerReference(pods, pod)],
  },
  spec: spec.spec,
});

/** It runs no more, or never will. */
export const isPodDone = (pod: Pod): boolean =>
  isPodTerminal(pod) || (isPodTerminating(pod) && (pod.spec.nodeName ?? '') === '');

const isConsumer = ({ resource, apiGroup = '', uid }: ResourceClaimConsumerReference, pod: Pod): boolean =>
  resource === 'pods' && apiGroup === '' && uid === pod.metadata.uid;

/** The claim as it is to be held by a pod that came to its node without the scheduler; undefined when nothing is to be done. */
export function reservedBy(claim: ResourceClaim, pod: Pod): ResourceClaim | undefined {
  const { allocation, reservedFor = [] } = claim.status ?? {};
  const isHeld = reservedFor.some((consumer) => isConsumer(consumer, pod));
  if (allocation === undefined || isHeld || reservedFor.length >= mostConsumers) return undefined;
  const { name, uid = '' } = pod.metadata;
  return {
    ...claim,
    status: { ...claim.status, reservedFor: [...reservedFor, { resource: 'pods', name, uid }] },
  };
}

const hasFinalizer = ({ metadata }: ResourceClaim): boolean =>
  metadata.finalizers?.includes(finalizer) === true;

/** Its status without those that hold it no more; what nobody holds is free for others. Undefined when it may stay as it is. */
export function withoutConsumers(
  claim: ResourceClaim,
  isGone: (consumer: ResourceClaimConsumerReference) => boolean,
): ResourceClaim | undefined {
  const { reservedFor = [], allocation } = claim.status ?? {};
  const left = reservedFor.filter((consumer) => !isGone(consumer));
  const wasFreed = left.length < reservedFor.length;
  const isLeaving =
    claim.metadata.deletionTimestamp !== undefined && hasFinalizer(claim) && left.length === 0;
  if (!wasFreed && !(isLeaving && allocation !== undefined)) return undefined;
  const { reservedFor: _, allocation: __, ...others } = claim.status ?? {};
  const keeps = allocation !== undefined && (left.length > 0 || !hasFinalizer(claim));
  return {
    ...claim,
    status: {
      ...others,
      ...(left.length === 0 ? {} : { reservedFor: left }),
      ...(keeps ? { allocation } : {}),
    },
  };
}

/** The finalizers without the one that keeps what is allocated; undefined while it has a reason, or is not there. */
export function finalizersLeft(claim: ResourceClaim, wasFreed: boolean): string[] | undefined {
  const { allocation, reservedFor = [] } = claim.status ?? {};
  const isLeaving = claim.metadata.deletionTimestamp !== undefined && reservedFor.length === 0;
  if (!hasFinalizer(claim) || allocation !== undefined || !(wasFreed || isLeaving)) return undefined;
  return claim.metadata.finalizers?.filter((name) => name !== finalizer);
}

/** Made for a pod that is done, or was made anew, and held by nobody. `pod` is the one of its owner's name. */
export function isUnused(claim: ResourceClaim, pod: Pod | undefined): boolean {
  const held = (claim.status?.reservedFor ?? []).length > 0;
  if (held || pod === undefined || claim.metadata.deletionTimestamp !== undefined) return false;
  return !isClaimOf(pod, claim) || isPodDone(pod);
}

/** The name of the pod that a claim was made for. */
export function owningPod(claim: ResourceClaim): string | undefined {
  const owner = controllerOf(claim);
  return owner?.kind === 'Pod' && owner.apiVersion === 'v1' ? owner.name : undefined;
}
