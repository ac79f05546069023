// What is done about one object of the graph: deleted, freed of dead owners, orphaned, or let go.
import type { ObjectMeta, OwnerReference } from '../../api/generated/types/meta-v1.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import { Slice, type Turns } from '../../base/turns.ts';
import { retryOnConflict } from '../../client/retry-on-conflict.ts';
import type { ControllerClient } from '../../controller-runtime/define-controller.ts';
import {
  blockingDependents,
  foregroundFinalizer,
  type GraphNode,
  orphanFinalizer,
  type ResourceOf,
} from './ownership-graph.ts';

export interface Collector {
  readonly client: ControllerClient;
  readonly resourceOf: ResourceOf;
  /** An object may have tens of thousands of owners: they are asked for in turns. */
  readonly turns: Turns;
  now(): number;
  enqueue(node: GraphNode): void;
  /** The object is found to be gone before its watch says so. */
  forget(node: GraphNode): void;
  /** Deployment.apps or CRDs that are not discovered yet: the reference can't be judged. */
  nodeOf(uid: string): GraphNode | undefined;
}
interface AnyObject {
  readonly metadata: ObjectMeta;
}

async function live(
  client: ControllerClient,
  resource: ResourceRef,
  name: string,
  namespace: string | undefined,
) {
  try {
    return (await client.get(resource, { name, namespace })) as AnyObject;
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}

type Verdict = 'solid' | 'dangling' | 'waiting';

async function judge(collector: Collector, item: GraphNode, reference: OwnerReference): Promise<Verdict> {
  const resource = collector.resourceOf(reference);
  if (resource === undefined)
    throw new Error(`unable to get REST mapping for ${reference.apiVersion}/${reference.kind}.`);
  // A cluster-scoped object can't be owned by one in a namespace: such a reference is never resolved.
  if (resource.namespaced && item.namespace === undefined) return 'solid';
  const namespace = resource.namespaced ? item.namespace : undefined;
  const owner = await live(collector.client, resource, reference.name, namespace);
  if (owner === undefined || owner.metadata.uid !== reference.uid) return 'dangling';
  const { deletionTimestamp, finalizers } = owner.metadata;
  return deletionTimestamp !== undefined && finalizers?.includes(foregroundFinalizer) === true
    ? 'waiting'
    : 'solid';
}

/** One after the other, as upstream: thousands of questions at once would be a crowd in front of the server. */
async function judgeAll(
  collector: Collector,
  item: GraphNode,
  references: readonly OwnerReference[],
): Promise<Verdict[]> {
  const slice = new Slice(collector.turns, collector.now);
  const verdicts: Verdict[] = [];
  for (const reference of references) {
    if (slice.over) await slice.next();
    verdicts.push(await judge(collector, item, reference));
  }
  return verdicts;
}

async function removeFinalizer(collector: Collector, item: GraphNode, finalizer: string): Promise<void> {
  const { client } = collector;
  await retryOnConflict(async () => {
    const object = await live(client, item.resource, item.name, item.namespace);
    if (object === undefined || object.metadata.uid !== item.uid) return;
    const { finalizers = [], resourceVersion } = object.metadata;
    if (!finalizers.includes(finalizer)) return;
    const body = {
      metadata: { resourceVersion, finalizers: finalizers.filter((other) => other !== finalizer) },
    };
    await client.patch(
      item.resource,
      { name: item.name, namespace: item.namespace },
      { type: 'merge', body },
    );
  });
}

async function removeOwners(
  client: ControllerClient,
  item: GraphNode,
  uids: ReadonlySet<string>,
): Promise<void> {
  await retryOnConflict(async () => {
    const object = await live(client, item.resource, item.name, item.namespace);
    if (object === undefined || object.metadata.uid !== item.uid) return;
    const { ownerReferences = [], resourceVersion, uid } = object.metadata;
    const kept = ownerReferences.filter((reference) => !uids.has(reference.uid));
    if (kept.length === ownerReferences.length) return;
    const body = { metadata: { resourceVersion, uid, ownerReferences: kept } };
    await client.patch(
      item.resource,
      { name: item.name, namespace: item.namespace },
      { type: 'merge', body },
    );
  });
}

async function unblock(
  client: ControllerClient,
  item: GraphNode,
  owners: ReadonlySet<string>,
): Promise<void> {
  await retryOnConflict(async () => {
    const object = await live(client, item.resource, item.name, item.namespace);
    if (object === undefined || object.metadata.uid !== item.uid) return;
    const { ownerReferences = [], resourceVersion, uid } = object.metadata;
    if (!ownerReferences.some((r) => r.blockOwnerDeletion === true && owners.has(r.uid))) return;
    const changed = ownerReferences.map((r) => (owners.has(r.uid) ? { ...r, blockOwnerDeletion: false } : r));
    const body = { metadata: { resourceVersion, uid, ownerReferences: changed } };
    await client.patch(
      item.resource,
      { name: item.name, namespace: item.namespace },
      { type: 'merge', body },
    );
  });
}

async function remove(
  { client }: Collector,
  item: GraphNode,
  { metadata }: AnyObject,
  propagationPolicy: 'Orphan' | 'Background' | 'Foreground',
  /** Its owners may have changed since they were judged. */
  atVersion: boolean,
): Promise<void> {
  const { resourceVersion, uid } = metadata;
  const preconditions = {
    ...(uid === undefined ? {} : { uid }),
    ...(atVersion && resourceVersion !== undefined ? { resourceVersion } : {}),
  };
  await client
    .delete(
      item.resource,
      { name: item.name, namespace: item.namespace },
      { preconditions, propagationPolicy },
    )
    .catch((error: unknown) => {
      if (!isStatusError(error, 'NotFound')) throw error;
    });
}

/** As upstream's attemptToDeleteItem. Throws when it should be tried again. */
export async function collect(collector: Collector, item: GraphNode): Promise<void> {
  if (item.beingDeleted && !item.deletingDependents) return;
  if (item.virtual && collector.nodeOf(item.uid) !== item) return;
  if (item.resource.resource === '') return;
  const object = await live(collector.client, item.resource, item.name, item.namespace);
  if (object === undefined || object.metadata.uid !== item.uid) {
    collector.forget(item);
    return;
  }
  if (item.deletingDependents) {
    const blocking = blockingDependents(item);
    if (blocking.length === 0) await removeFinalizer(collector, item, foregroundFinalizer);
    else for (const dependent of blocking) if (!dependent.deletingDependents) collector.enqueue(dependent);
    return;
  }
  const references = object.metadata.ownerReferences ?? [];
  if (references.length === 0 || object.metadata.deletionTimestamp !== undefined) return;
  const verdicts = await judgeAll(collector, item, references);
  const of = (verdict: Verdict): Set<string> =>
    new Set(references.filter((_, i) => verdicts[i] === verdict).map((reference) => reference.uid));
  const [solid, dangling, waiting] = [of('solid'), of('dangling'), of('waiting')];
  if (solid.size > 0) {
    if (dangling.size + waiting.size > 0)
      await removeOwners(collector.client, item, new Set([...dangling, ...waiting]));
    return;
  }
  if (waiting.size > 0 && item.dependents.size > 0) {
    // A ring of owners that all wait would wait for ever.
    if ([...item.dependents].some((dependent) => dependent.deletingDependents))
      await unblock(collector.client, item, waiting);
    await remove(collector, item, object, 'Foreground', false);
    return;
  }
  const finalizers = object.metadata.finalizers ?? [];
  const policy = finalizers.includes(orphanFinalizer)
    ? 'Orphan'
    : finalizers.includes(foregroundFinalizer)
      ? 'Foreground'
      : 'Background';
  await remove(collector, item, object, policy, true);
}

/** Frees the dependents of an object that was deleted with propagationPolicy Orphan, then lets it go. */
export async function orphan(collector: Collector, item: GraphNode): Promise<void> {
  const owner = new Set([item.uid]);
  const slice = new Slice(collector.turns, collector.now);
  for (const dependent of [...item.dependents]) {
    if (slice.over) await slice.next();
    await removeOwners(collector.client, dependent, owner);
  }
  await removeFinalizer(collector, item, orphanFinalizer);
}
