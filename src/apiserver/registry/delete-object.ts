// Deleting an object: preconditions, grace, finalizers of the garbage collector, and what is answered.
import type { Json, JsonObject } from '../../apimachinery/declaration.ts';
import { conflict } from '../../apimachinery/errors.ts';
import { num, str, strs } from '../../apimachinery/json-access.ts';
import { latestTimeMs, rfc3339 } from '../../base/clock.ts';
import type { CachedObject } from '../../storage/watch/resource-cache.ts';
import { ensureMeta, metadataOf } from './object-meta.ts';
import type { StoredResource, WriteOptions } from './stored-resource.ts';
import { untilWritten } from './until-written.ts';
import { admissionRequest, dryRunResult, servedObject, toDraft, weighed } from './write-rules.ts';

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number | bigint | undefined;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground' | undefined;
  readonly orphanDependents?: boolean | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  /** The whole DeleteOptions, for admission. */
  readonly raw?: JsonObject | undefined;
}

export interface Deletion {
  /** The last state, or the state that waits for grace or finalizers. */
  readonly value: Buffer;
  readonly revision: number;
  readonly uid: string;
  /** False: it is still there and will go later. */
  readonly gone: boolean;
}

interface Plan {
  /** nothing: it is being deleted already; mark: write and wait; remove: at once. */
  readonly action: 'nothing' | 'mark' | 'remove';
  readonly object: JsonObject;
}

export async function deleteObject(
  store: StoredResource,
  namespace: string,
  name: string,
  request: DeleteOptions,
  given: WriteOptions,
): Promise<Deletion> {
  return untilWritten(store, { namespace, name }, async (current) => {
    if (current === undefined) throw store.missing(namespace, name);
    const options = weighed(given, current.value);
    const object = await servedObject(store, options, current.value);
    checkPreconditions(store, object, request);
    // After a race once more, as upstream: it is another object that is deleted.
    await admitDeletion(store, current, request, options);
    return deleteOnce(store, current, planDeletion(store, object, request), options);
  });
}

async function admitDeletion(
  store: StoredResource,
  { index: { namespace, name }, value }: CachedObject,
  request: DeleteOptions,
  options: WriteOptions,
): Promise<void> {
  const admission = admissionRequest(
    store,
    {
      operation: 'DELETE',
      namespace,
      name,
      object: undefined,
      oldObject: await servedObject(store, options, value),
      ...(request.raw ? { requestOptions: request.raw } : {}),
    },
    options,
  );
  if (admission === undefined) return;
  await store.deps.admission.admit(admission);
  await store.deps.admission.validate(admission);
}

/** Throws 409 when it is another object, or not as it was, than whoever asks has seen. */
export function checkPreconditions(
  store: Pick<StoredResource, 'declaration'>,
  object: JsonObject,
  request: Pick<DeleteOptions, 'uid' | 'resourceVersion'>,
): void {
  const metadata = metadataOf(object);
  const { group, kind } = store.declaration;
  const about = { group, resource: kind };
  const name = str(metadata['name']);
  if (request.uid !== undefined && request.uid !== metadata['uid'])
    throw conflict(
      about,
      name,
      `the UID in the precondition (${request.uid}) does not match the UID in record (${str(metadata['uid'])}). The object might have been deleted and then recreated`,
    );
  if (request.resourceVersion !== undefined && request.resourceVersion !== metadata['resourceVersion'])
    throw conflict(
      about,
      name,
      `the ResourceVersion in the precondition (${request.resourceVersion}) does not match the ResourceVersion in record (${str(metadata['resourceVersion'])}). The object might have been modified`,
    );
}

/** Which finalizers of the garbage collector the object is to have: upstream's deletionFinalizersForGarbageCollection. */
function collectorFinalizers(
  finalizers: readonly string[],
  request: DeleteOptions,
  standard: 'orphan' | 'background',
): string[] {
  const others = finalizers.filter((f) => f !== 'orphan' && f !== 'foregroundDeletion');
  if (wantsOrphan(finalizers, request, standard)) others.push('orphan');
  else if (wantsForeground(finalizers, request)) others.push('foregroundDeletion');
  return others;
}

function wantsOrphan(
  finalizers: readonly string[],
  request: DeleteOptions,
  standard: 'orphan' | 'background',
): boolean {
  if (request.orphanDependents !== undefined) return request.orphanDependents;
  if (request.propagationPolicy !== undefined) return request.propagationPolicy === 'Orphan';
  if (finalizers.includes('orphan')) return true;
  if (finalizers.includes('foregroundDeletion')) return false;
  return standard === 'orphan';
}

function wantsForeground(finalizers: readonly string[], request: DeleteOptions): boolean {
  if (request.orphanDependents !== undefined) return false;
  if (request.propagationPolicy !== undefined) return request.propagationPolicy === 'Foreground';
  return finalizers.includes('foregroundDeletion');
}

function planDeletion(store: StoredResource, object: JsonObject, request: DeleteOptions): Plan {
  const { strategy } = store.declaration;
  const metadata = ensureMeta(object);
  const now = store.deps.clock.now();
  const graceful = strategy.gracePeriodSeconds !== undefined;
  const deleting = metadata['deletionTimestamp'] !== undefined;
  let grace: number | bigint | undefined;
  let mark = false;
  if (graceful && deleting && num(metadata['deletionGracePeriodSeconds']) > 0) {
    const before = num(metadata['deletionGracePeriodSeconds']);
    const { gracePeriodSeconds: asked } = request;
    if (asked === undefined || asked >= before) return { action: 'nothing', object };
    grace = asked < 0 ? 0 : asked;
    const end = Date.parse(str(metadata['deletionTimestamp']));
    // What is longer than a time can tell doesn't tell when it began.
    const start = end < latestTimeMs ? end - before * 1000 : now;
    metadata['deletionTimestamp'] = rfc3339(start + Number(grace) * 1000);
    metadata['deletionGracePeriodSeconds'] = grace as Json;
    mark = true;
  } else if (graceful && !deleting) {
    grace = strategy.gracePeriodSeconds?.(object, request.gracePeriodSeconds) ?? 0;
    metadata['deletionTimestamp'] = rfc3339(now + Number(grace) * 1000);
    metadata['deletionGracePeriodSeconds'] = grace as Json;
    if (num(metadata['generation']) > 0) metadata['generation'] = num(metadata['generation']) + 1;
    mark = true;
  }
  const before = strs(metadata['finalizers']);
  const finalizers = collectorFinalizers(before, request, strategy.defaultGarbageCollection ?? 'background');
  const changed = finalizers.length !== before.length || finalizers.some((f, i) => f !== before[i]);
  if (finalizers.length === 0) delete metadata['finalizers'];
  else metadata['finalizers'] = finalizers;
  if (finalizers.length > 0 || strategy.holdsDeletion?.(object) === true) {
    const wasDeleting = deleting;
    if (!mark) markAsDeleting(metadata, now, strategy.countsDeletion !== false);
    else if (grace === 0) metadata['deletionGracePeriodSeconds'] = 0;
    strategy.prepareForDelete?.(object);
    return { action: wasDeleting && !changed && !mark ? 'nothing' : 'mark', object };
  }
  if (mark && (grace ?? 0) > 0) return { action: 'mark', object };
  return { action: 'remove', object };
}

/** Without grace: the object waits for its finalizers only. */
function markAsDeleting(metadata: JsonObject, now: number, counts: boolean): void {
  if (metadata['deletionTimestamp'] === undefined) {
    metadata['deletionTimestamp'] = rfc3339(now);
    if (!counts) return;
    if (num(metadata['generation']) > 0) metadata['generation'] = num(metadata['generation']) + 1;
  }
  metadata['deletionGracePeriodSeconds'] = 0;
}

async function deleteOnce(
  store: StoredResource,
  current: CachedObject,
  plan: Plan,
  options: WriteOptions,
): Promise<Deletion | 'raced'> {
  const { cache, hooks } = store.deps;
  const { namespace, name, uid } = current.index;
  if (plan.action === 'nothing' && !(await store.isNewest(namespace, name, current))) return 'raced';
  if (plan.action === 'nothing')
    return { value: await store.servedBytes(current.value), revision: current.revision, uid, gone: false };
  const remove = plan.action === 'remove';
  if (options.dryRun) {
    const result = await dryRunResult(store, plan.object, current.revision, options);
    return { ...result, uid, gone: remove };
  }
  const { draft, stored } = await toDraft(store, plan.object, options);
  const written = await store.written(options, () =>
    remove
      ? cache.delete(namespace, name, draft, stored, current.revision)
      : cache.update(namespace, name, { ...draft, urgency: 'deletion' }, stored, current.revision),
  );
  if (!written.ok) return 'raced';
  if (remove) await hooks?.afterDelete?.(plan.object);
  return {
    value: await store.servedBytes(written.entry.value),
    revision: written.entry.revision,
    uid,
    gone: remove,
  };
}
