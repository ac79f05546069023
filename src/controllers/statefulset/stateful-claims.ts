// The claims of a StatefulSet's pods: made where they miss, and owned by whom the set's policy says.
import { persistentvolumeclaims, statefulsets } from '../../api/generated/resources.ts';
import type { StatefulSet } from '../../api/generated/types/apps-v1.ts';
import type { PersistentVolumeClaim, Pod } from '../../api/generated/types/core-v1.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import { referenceTo } from '../../client/event-recorder.ts';
import { type Access, may } from '../../controller-runtime/access.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';
import { claimOwners, hasOtherController, isDeletedWhenScaled, isStaleClaim } from './claim-retention.ts';
import { claimsOfSet } from './stateful-pod.ts';

/** Whoever calls what is here declares this. */
export const mayKeepClaims: Access = may(['create', 'update'], persistentvolumeclaims);

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const shown = (
  context: ControllerContext,
  { metadata }: PersistentVolumeClaim,
): PersistentVolumeClaim | undefined =>
  context.read(persistentvolumeclaims).get(metadata.name, metadata.namespace);

/** Throws Error with upstream's text when a pod can't have its claims. */
export async function ensureClaims(
  context: ControllerContext,
  set: StatefulSet,
  podName: string,
): Promise<void> {
  const about = referenceTo(statefulsets, set);
  const failures: string[] = [];
  for (const wanted of claimsOfSet(set, podName)) {
    const { name } = wanted.metadata;
    const there = shown(context, wanted);
    if (there !== undefined) {
      if (there.metadata.deletionTimestamp !== undefined) failures.push(`pvc ${name} is being deleted`);
      continue;
    }
    try {
      await context.write.create(persistentvolumeclaims, wanted);
      const text = `create Claim ${name} Pod ${podName} in StatefulSet ${set.metadata.name} success`;
      context.events.event(about, 'Normal', 'SuccessfulCreate', text);
    } catch (error) {
      // The informer does not show it yet.
      if (isStatusError(error, 'AlreadyExists')) continue;
      failures.push(`failed to create PVC ${name}: ${textOf(error)}`);
      const text = `create Claim ${name} for Pod ${podName} in StatefulSet ${set.metadata.name} failed error: ${textOf(error)}`;
      context.events.event(about, 'Warning', 'FailedCreate', text);
    }
  }
  if (failures.length === 0) return;
  throw new Error(failures.length === 1 ? failures[0] : `[${failures.join(', ')}]`);
}

/** Whether a pod that is to be made would get a claim that is about to go. */
export const hasStaleClaim = (context: ControllerContext, set: StatefulSet, podName: string): boolean =>
  isDeletedWhenScaled(set) &&
  claimsOfSet(set, podName).some((wanted) => {
    const there = shown(context, wanted);
    return there !== undefined && isStaleClaim(there, podName);
  });

/** Gives the claims of a pod the owners that the policy asks for; true when that changed anything. */
export async function settleClaims(context: ControllerContext, set: StatefulSet, pod: Pod): Promise<boolean> {
  let changed = false;
  for (const wanted of claimsOfSet(set, pod.metadata.name)) {
    const claim = shown(context, wanted);
    const owners = claim && claimOwners(set, pod, claim);
    if (claim === undefined || owners === undefined) continue;
    const { name } = claim.metadata;
    if (hasOtherController(set, pod, claim))
      context.events.event(
        referenceTo(statefulsets, set),
        'Warning',
        'ConflictingController',
        `PersistentVolumeClaim ${name} has a conflicting OwnerReference that acts as a managing controller, the retention policy is ignored for this claim`,
      );
    const metadata = { ...claim.metadata, ownerReferences: owners };
    try {
      await context.write.update(persistentvolumeclaims, { ...claim, metadata });
      changed = true;
    } catch (error) {
      if (isStatusError(error, 'NotFound') || isStatusError(error, 'Conflict')) throw error;
      throw new Error(`could not update claim ${name} for delete policy ownerRefs: ${textOf(error)}`, {
        cause: error,
      });
    }
  }
  return changed;
}
