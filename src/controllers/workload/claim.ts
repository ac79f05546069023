// Adoption and release: which objects a controller owns by its selector, as upstream's controller ref managers.
import { isStatusError } from '../../apimachinery/errors.ts';
import { matchesSelector, type Selector } from '../../apimachinery/label-selector.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';
import {
  controllerIndex,
  controllerOf,
  controllerReference,
  type Owned,
  orphansOf,
} from '../../controller-runtime/owner-reference.ts';

export interface Claim<O extends Owned, D extends Owned> {
  readonly ownerResource: ResourceRef<O>;
  readonly owner: O;
  readonly selector: Selector;
  readonly resource: ResourceRef<D>;
  /** Also needed to adopt: finished pods are left alone by ReplicaSets. */
  readonly mayAdopt?: (object: D) => boolean;
}

const uidOf = (object: Owned): string => object.metadata.uid ?? '';

/** All dependents of the informer's index that the owner might claim: its own and the namespace's orphans. */
function candidates<D extends Owned>(
  context: ControllerContext,
  resource: ResourceRef<D>,
  owner: Owned,
): readonly D[] {
  const lister = context.read(resource);
  const orphans = lister.byIndex(controllerIndex, orphansOf(owner.metadata.namespace ?? ''));
  const owned = lister.byIndex(controllerIndex, uidOf(owner));
  return orphans.length === 0 ? owned : [...owned, ...orphans];
}

export async function claim<O extends Owned, D extends Owned>(
  context: ControllerContext,
  request: Claim<O, D>,
): Promise<D[]> {
  const { owner, selector, resource, ownerResource } = request;
  const claimed: D[] = [];
  let adoptable: Promise<void> | undefined;
  const canAdopt = (): Promise<void> => {
    adoptable ??= recheckOwner(context, ownerResource, owner);
    return adoptable;
  };
  for (const object of candidates(context, resource, owner)) {
    const matches = matchesSelector(selector, object.metadata.labels);
    const controller = controllerOf(object);
    if (controller !== undefined) {
      if (controller.uid !== owner.metadata.uid) continue;
      if (matches) claimed.push(object);
      else if (owner.metadata.deletionTimestamp === undefined)
        await release(context, resource, object, owner);
      continue;
    }
    if (!matches || owner.metadata.deletionTimestamp !== undefined) continue;
    if (object.metadata.deletionTimestamp !== undefined || request.mayAdopt?.(object) === false) continue;
    await canAdopt();
    if (await adopt(context, request, object)) claimed.push(object);
  }
  return claimed;
}

/** The informer may still show an owner that was deleted and made again. */
async function recheckOwner<O extends Owned>(
  context: ControllerContext,
  resource: ResourceRef<O>,
  owner: O,
): Promise<void> {
  const { name, namespace, uid } = owner.metadata;
  const fresh = await context.write.get(resource, { name, namespace });
  if (fresh.metadata.uid !== uid)
    throw new Error(
      `original ${resource.kind} ${namespace}/${name} is gone: got uid ${fresh.metadata.uid}, wanted ${uid}`,
    );
  if (fresh.metadata.deletionTimestamp !== undefined)
    throw new Error(`${namespace}/${name} has just been deleted at ${fresh.metadata.deletionTimestamp}`);
}

async function adopt<O extends Owned, D extends Owned>(
  context: ControllerContext,
  { resource, ownerResource, owner }: Claim<O, D>,
  object: D,
): Promise<boolean> {
  const { name, namespace, uid } = object.metadata;
  const ownerReferences = [controllerReference(ownerResource, owner)];
  try {
    const body = { metadata: { ownerReferences, uid } };
    await context.write.patch(resource, { name, namespace }, { type: 'strategic', body });
    return true;
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return false;
    throw error;
  }
}

async function release<D extends Owned>(
  context: ControllerContext,
  resource: ResourceRef<D>,
  object: D,
  owner: Owned,
): Promise<void> {
  const { name, namespace, uid } = object.metadata;
  const ownerReferences = [{ $patch: 'delete', uid: owner.metadata.uid }];
  try {
    const body = { metadata: { ownerReferences, uid } };
    await context.write.patch(resource, { name, namespace }, { type: 'strategic', body });
  } catch (error) {
    // Gone, or already released (Invalid: its uid changed).
    if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'Invalid')) throw error;
  }
}
