// Owner references: who controls an object, and the reference that says so.
import type { OwnerReference } from '../api/generated/types/meta-v1.ts';
import { apiVersionOf, type ResourceRef } from '../apimachinery/resource-ref.ts';

export interface Owned {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly uid?: string | undefined;
    readonly labels?: Record<string, string> | undefined;
    readonly deletionTimestamp?: string | undefined;
    readonly ownerReferences?: OwnerReference[] | undefined;
    readonly resourceVersion?: string | undefined;
  };
}

export const controllerOf = (object: Owned): OwnerReference | undefined =>
  object.metadata.ownerReferences?.find((reference) => reference.controller === true);

export function controllerReference(resource: ResourceRef, owner: Owned): OwnerReference {
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

export const groupOf = (apiVersion: string): string => {
  const cut = apiVersion.indexOf('/');
  return cut < 0 ? '' : apiVersion.slice(0, cut);
};

/** Name of the index of objects by the uid of their controller. */
export const controllerIndex = 'controllerUid';
/** The index value of objects in a namespace that nobody controls. */
export const orphansOf = (namespace: string): string => `orphans/${namespace}`;
export const controllerIndexValues = (object: unknown): readonly string[] => {
  const owned = object as Owned;
  return [controllerOf(owned)?.uid ?? orphansOf(owned.metadata.namespace ?? '')];
};
