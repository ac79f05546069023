// Who owns whom, over all resources, as the watches tell it.
import type { ObjectMeta, OwnerReference } from '../../api/generated/types/meta-v1.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';

export const foregroundFinalizer = 'foregroundDeletion';
export const orphanFinalizer = 'orphan';

/** The little that is kept of each object of the cluster. */
export interface GraphNode {
  readonly uid: string;
  resource: ResourceRef;
  namespace: string | undefined;
  name: string;
  owners: readonly OwnerReference[];
  readonly dependents: Set<GraphNode>;
  beingDeleted: boolean;
  /** Deleted in the foreground: it waits for its dependents. */
  deletingDependents: boolean;
  orphaning: boolean;
  /** Known only from a reference to it; whether it exists is yet to be asked. */
  virtual: boolean;
}

/** What is to be looked at after a change. */
export interface Consequences {
  readonly attemptToDelete: GraphNode[];
  readonly attemptToOrphan: GraphNode[];
}

export type ResourceOf = (reference: OwnerReference) => ResourceRef | undefined;
const noOwners: readonly OwnerReference[] = Object.freeze([]);

const ownersOf = (metadata: ObjectMeta): readonly OwnerReference[] => metadata.ownerReferences ?? noOwners;
const hasFinalizer = (metadata: ObjectMeta, finalizer: string): boolean =>
  metadata.finalizers?.includes(finalizer) === true;

export class OwnershipGraph {
  readonly #nodes = new Map<string, GraphNode>();
  readonly #resourceOf: ResourceOf;

  constructor(resourceOf: ResourceOf) {
    this.#resourceOf = resourceOf;
  }

  node(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid);
  }
  get size(): number {
    return this.#nodes.size;
  }

  /** An object as it now is. */
  set(resource: ResourceRef, metadata: ObjectMeta): Consequences {
    const consequences: Consequences = { attemptToDelete: [], attemptToOrphan: [] };
    const uid = metadata.uid ?? '';
    const owners = ownersOf(metadata);
    let node = this.#nodes.get(uid);
    const isNews = node === undefined || node.virtual;
    if (node === undefined) {
      node = this.#make(uid, resource, metadata.namespace, metadata.name);
      this.#nodes.set(uid, node);
    } else if (node.virtual) {
      // A reference may have named it wrongly: those who did are looked at again.
      const misnamed = node.name !== metadata.name || node.namespace !== metadata.namespace;
      node.virtual = false;
      node.resource = resource;
      node.namespace = metadata.namespace;
      node.name = metadata.name;
      if (misnamed) consequences.attemptToDelete.push(...node.dependents);
    }
    this.#relink(node, owners, consequences);
    const deleting = metadata.deletionTimestamp !== undefined;
    const wasDeletingDependents = node.deletingDependents;
    const wasOrphaning = node.orphaning;
    node.beingDeleted = deleting;
    node.deletingDependents = deleting && hasFinalizer(metadata, foregroundFinalizer);
    node.orphaning = deleting && hasFinalizer(metadata, orphanFinalizer);
    if (node.orphaning && !wasOrphaning) consequences.attemptToOrphan.push(node);
    if (node.deletingDependents && !wasDeletingDependents)
      consequences.attemptToDelete.push(...node.dependents, node);
    if (isNews && owners.length > 0 && !deleting && this.#hasDoubtfulOwner(node))
      consequences.attemptToDelete.push(node);
    return consequences;
  }

  /** An object that is gone. */
  remove(uid: string): Consequences {
    const consequences: Consequences = { attemptToDelete: [], attemptToOrphan: [] };
    const node = this.#nodes.get(uid);
    if (node === undefined) return consequences;
    this.#nodes.delete(uid);
    consequences.attemptToDelete.push(...node.dependents);
    for (const reference of node.owners) {
      const owner = this.#nodes.get(reference.uid);
      owner?.dependents.delete(node);
      // It may have waited for this one.
      if (owner?.deletingDependents === true) consequences.attemptToDelete.push(owner);
      if (owner?.virtual === true && owner.dependents.size === 0) this.#nodes.delete(owner.uid);
    }
    // Those who still refer to it need a node that the reference ends at.
    if (node.dependents.size > 0) {
      const ghost = this.#make(uid, node.resource, node.namespace, node.name);
      ghost.virtual = true;
      for (const dependent of node.dependents) ghost.dependents.add(dependent);
      this.#nodes.set(uid, ghost);
    }
    return consequences;
  }

  #make(uid: string, resource: ResourceRef, namespace: string | undefined, name: string): GraphNode {
    return {
      uid,
      resource,
      namespace,
      name,
      owners: noOwners,
      dependents: new Set(),
      beingDeleted: false,
      deletingDependents: false,
      orphaning: false,
      virtual: false,
    };
  }

  #hasDoubtfulOwner(node: GraphNode): boolean {
    return node.owners.some((reference) => {
      const owner = this.#nodes.get(reference.uid);
      return owner === undefined || owner.virtual || owner.deletingDependents;
    });
  }

  #relink(node: GraphNode, owners: readonly OwnerReference[], consequences: Consequences): void {
    const before = new Map(node.owners.map((reference) => [reference.uid, reference]));
    const now = new Map(owners.map((reference) => [reference.uid, reference]));
    let changed = false;
    for (const [uid, old] of before) {
      const kept = now.get(uid);
      const owner = this.#nodes.get(uid);
      if (kept === undefined) {
        changed = true;
        owner?.dependents.delete(node);
        if (owner?.virtual === true && owner.dependents.size === 0) this.#nodes.delete(uid);
      }
      // An owner that waited for this dependent waits no more.
      const unblocked = old.blockOwnerDeletion === true && kept?.blockOwnerDeletion !== true;
      if (unblocked && owner?.deletingDependents === true) consequences.attemptToDelete.push(owner);
    }
    node.owners = owners;
    for (const [uid, reference] of now) {
      if (before.has(uid)) continue;
      changed = true;
      this.#ownerNode(reference, node).dependents.add(node);
    }
    if (changed && before.size > 0 && owners.length > 0 && this.#hasDoubtfulOwner(node))
      consequences.attemptToDelete.push(node);
  }

  #ownerNode(reference: OwnerReference, dependent: GraphNode): GraphNode {
    let owner = this.#nodes.get(reference.uid);
    if (owner === undefined) {
      const resource = this.#resourceOf(reference) ?? {
        group: '',
        version: '',
        resource: '',
        kind: reference.kind,
        namespaced: true,
      };
      owner = this.#make(
        reference.uid,
        resource,
        resource.namespaced ? dependent.namespace : undefined,
        reference.name,
      );
      owner.virtual = true;
      this.#nodes.set(reference.uid, owner);
    }
    return owner;
  }
}

/** Dependents that keep their owner from going while they exist. */
export const blockingDependents = (node: GraphNode): GraphNode[] =>
  [...node.dependents].filter((dependent) =>
    dependent.owners.some((reference) => reference.uid === node.uid && reference.blockOwnerDeletion === true),
  );
