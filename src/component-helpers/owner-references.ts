// Who owns an object: its controller and its other owners.
import type { ObjectMeta, OwnerReference } from '../api/generated/types/meta-v1.ts';

interface Owned {
  readonly metadata: ObjectMeta;
}

export const controllerOf = (object: Owned): OwnerReference | undefined =>
  object.metadata.ownerReferences?.find((r) => r.controller === true);
export const isControlledBy = (object: Owned, owner: Owned): boolean =>
  controllerOf(object)?.uid === owner.metadata.uid && owner.metadata.uid !== undefined;

/** The reference that a controller puts on what it makes. */
export const controllerReference = (
  kind: { readonly apiVersion: string; readonly kind: string },
  owner: Owned,
): OwnerReference => ({
  apiVersion: kind.apiVersion,
  kind: kind.kind,
  name: owner.metadata.name,
  uid: owner.metadata.uid ?? '',
  controller: true,
  blockOwnerDeletion: true,
});
