// Turns what informers report into keys of a controller's queue.
import { matchesObject } from '../apimachinery/label-selector.ts';
import type { InformerFactory } from '../client/cache/informer.ts';
import { objectKey } from '../client/cache/object-store.ts';
import type {
  AnyResource,
  Controller,
  ControllerContext,
  ControllerDefinition,
} from './define-controller.ts';
import {
  controllerIndex,
  controllerIndexValues,
  controllerOf,
  groupOf,
  type Owned,
} from './owner-reference.ts';

type Definition = ControllerDefinition<unknown>;
type Remove = () => void;

/** Before the informers start: indexes can't be added later without a gap for others. */
export function addIndexes(definition: Definition, informers: InformerFactory): void {
  for (const owned of definition.owns ?? [])
    informers.informer(owned).addIndex(controllerIndex, controllerIndexValues);
  for (const { resource, name, values } of definition.indexes ?? [])
    informers.informer(resource).addIndex(name, values);
}

/** All resources whose informers the controller needs. */
export function resourcesRead(controller: Controller): readonly AnyResource[] {
  if (controller.type === 'loop') return controller.definition.reads;
  const { for: main, owns = [], reads = [], watches = [] } = controller.definition;
  return [main, ...owns, ...reads, ...watches.map((watch) => watch.resource)];
}

function ownerKey(definition: Definition, object: Owned, context: ControllerContext): string | undefined {
  const reference = controllerOf(object);
  if (reference?.kind !== definition.for.kind || groupOf(reference.apiVersion) !== definition.for.group)
    return undefined;
  const owner = context.read(definition.for).get(reference.name, object.metadata.namespace) as
    | Owned
    | undefined;
  // Another object of the same name: the reference is to one that is gone.
  return owner?.metadata.uid === reference.uid ? objectKey(owner) : undefined;
}

function matchingKeys(definition: Definition, orphan: Owned, context: ControllerContext): readonly string[] {
  const { selectorOf } = definition;
  if (selectorOf === undefined) return [];
  return context
    .read(definition.for)
    .list(orphan.metadata.namespace)
    .filter((owner) => matchesObject(selectorOf(owner), orphan.metadata.labels))
    .map(objectKey);
}

function watchOwned(
  definition: Definition,
  resource: AnyResource,
  informers: InformerFactory,
  context: ControllerContext,
): Remove {
  const { expectations } = context;
  // Expectations count one resource: the first, of which the controller makes many.
  const counts = resource === definition.owns?.[0];
  const isOrphan = (object: Owned): boolean => controllerOf(object) === undefined;
  const deleted = (object: Owned): void => {
    const key = ownerKey(definition, object, context);
    if (key === undefined) return;
    if (counts) expectations.deletionObserved(key, object.metadata.uid ?? '');
    context.enqueue(key);
  };
  return informers.informer(resource).addHandler({
    added(value) {
      const object = value as Owned;
      if (object.metadata.deletionTimestamp !== undefined) return deleted(object);
      const key = ownerKey(definition, object, context);
      if (key !== undefined) {
        if (counts) expectations.creationObserved(key);
        context.enqueue(key);
      } else if (isOrphan(object))
        for (const match of matchingKeys(definition, object, context)) context.enqueue(match);
    },
    updated(oldValue, value) {
      const [old, object] = [oldValue as Owned, value as Owned];
      const before = ownerKey(definition, old, context);
      if (object.metadata.deletionTimestamp !== undefined && old.metadata.deletionTimestamp === undefined) {
        deleted(object);
        // Graceful deletion in progress is a deletion for those who count.
        return;
      }
      const now = ownerKey(definition, object, context);
      if (before !== undefined && before !== now) context.enqueue(before);
      if (now !== undefined) context.enqueue(now);
      else if (isOrphan(object))
        for (const match of matchingKeys(definition, object, context)) context.enqueue(match);
    },
    deleted: (value) => deleted(value as Owned),
  });
}

/** Subscribes to everything the definition names; the results unsubscribe. */
export function wireEvents(
  definition: Definition,
  informers: InformerFactory,
  context: ControllerContext,
): Remove[] {
  const removes: Remove[] = [];
  removes.push(
    informers.informer(definition.for).addHandler({
      added: (object) => context.enqueue(objectKey(object)),
      updated: (_, object) => context.enqueue(objectKey(object)),
      deleted: (object) => context.enqueue(objectKey(object)),
    }),
  );
  for (const resource of definition.owns ?? [])
    removes.push(watchOwned(definition, resource, informers, context));
  for (const watch of definition.watches ?? []) {
    const enqueueAll = (keys: readonly string[]): void => {
      for (const key of keys) context.enqueue(key);
    };
    removes.push(
      informers.informer(watch.resource).addHandler({
        added: (object) => enqueueAll(watch.keys(object, { type: 'added', old: undefined }, context)),
        updated: (old, object) => enqueueAll(watch.keys(object, { type: 'updated', old }, context)),
        deleted: (object) => enqueueAll(watch.keys(object, { type: 'deleted', old: undefined }, context)),
      }),
    );
  }
  return removes;
}
