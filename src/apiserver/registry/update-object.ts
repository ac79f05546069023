// Updating an object: optimistic locking, what may not change, no-op writes, and deletion when the last finalizer goes.
import type { JsonObject, WrittenRules } from '../../apimachinery/declaration.ts';
import { badRequest, conflict, invalidObject, optimisticLock } from '../../apimachinery/errors.ts';
import { type FieldError, invalid } from '../../apimachinery/field-error.ts';
import { liveIfUnchanged } from '../../apimachinery/fieldmanager/ignore-timestamps.ts';
import { copyJson, num, str, strs } from '../../apimachinery/json-access.ts';
import { metadataOfStatus } from '../../apimachinery/kept-metadata.ts';
import type { Steps } from '../../base/turns.ts';
import { isStampOf } from '../../storage/stamp.ts';
import type { CachedObject } from '../../storage/watch/resource-cache.ts';
import { isUnknownOutcome } from '../../storage/watch/store-status.ts';
import { heavyBytes } from '../request-context.ts';
import { keepOwnership, uniqueOwners } from './after-webhooks.ts';
import { checkNamespace, createObject } from './create-object.ts';
import {
  carryOverMeta,
  ensureMeta,
  metadataOf,
  specChanged,
  validateObjectMetaUpdate,
} from './object-meta.ts';
import { checkStoragePreconditions, preconditionFailed, type WrittenPlace } from './storage-preconditions.ts';
import type { Stored, StoredResource, UpdateOptions } from './stored-resource.ts';
import { untilWritten } from './until-written.ts';
import {
  admissionRequest,
  askToAdmit,
  dryRunResult,
  isHeavy,
  refuseInvalid,
  servedObject,
  stepped,
  strategyContext,
  toDraft,
  turnOf,
  type WriteAdmission,
  warnAbout,
  weighed,
  writtenRules,
} from './write-rules.ts';

export interface UpdateRequest extends UpdateOptions {
  readonly namespace: string;
  readonly name: string;
  readonly change: (current: JsonObject | undefined) => JsonObject | Promise<JsonObject>;
}

export interface UpdateOutcome extends Stored {
  readonly created: boolean;
}

export async function updateObject(store: StoredResource, request: UpdateRequest): Promise<UpdateOutcome> {
  const { namespace, name } = request;
  const write = (): Promise<UpdateOutcome> =>
    untilWritten(store, request, (current) =>
      current === undefined ? createInstead(store, request) : updateOnce(store, request, current),
    );
  const size = store.cache.get(namespace, name)?.value.length ?? 0;
  if (size <= heavyBytes) return write();
  // Whoever is before it may wait for a place: those behind must not have them all.
  const { context } = request;
  const leave = await store.changes.enter(`${namespace}/${name}`, context && ((wait) => context.aside(wait)));
  try {
    return await write();
  } finally {
    leave();
  }
}

async function createInstead(store: StoredResource, request: UpdateRequest): Promise<UpdateOutcome> {
  const { declaration } = store;
  const missing = store.missing(request.namespace, request.name);
  if (
    missing.code !== 404 ||
    request.authorizeCreate === undefined ||
    (declaration.strategy.allowCreateOnUpdate !== true && request.createAlways !== true)
  )
    throw missing;
  const object = await request.change(undefined);
  const metadata = ensureMeta(object);
  refuseOther(store, request, str(metadata['uid']));
  if (!['', '0'].includes(str(metadata['resourceVersion'])) && request.createAlways !== true) throw missing;
  delete metadata['resourceVersion'];
  checkIdentity(store, request, metadata);
  const stored = await createObject(store, request.namespace, object, request, request.authorizeCreate);
  return { ...stored, created: true };
}

/** An object that is not there has no uid. */
function refuseOther(store: StoredResource, request: UpdateRequest, uid: string): void {
  if (uid === '') return;
  if (request.createAlways === true)
    throw conflict(
      store.declaration,
      request.name,
      `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
    );
  throw preconditionFailed(placeOf(store, request), `UID in precondition: ${uid}, UID in object meta: `);
}

const placeOf = (
  { declaration }: StoredResource,
  { namespace, name }: Pick<UpdateRequest, 'namespace' | 'name'>,
): WrittenPlace => ({ declaration, namespace, name });

/** Names in the body and in the path must be the same. */
export function checkIdentity(
  store: Pick<StoredResource, 'declaration'>,
  request: Pick<UpdateRequest, 'namespace' | 'name'>,
  metadata: JsonObject,
): void {
  checkNamespace(store.declaration, request.namespace, metadata);
  const name = str(metadata['name']);
  if (name === '')
    throw badRequest(
      `the name of the object (${request.name} based on URL) was undeterminable: name must be provided`,
    );
  if (name !== request.name)
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${request.name})`);
}

/** For the change to do with as it said. A large one is read again, in turns: a copy would be one long step. */
function forChange(
  store: StoredResource,
  request: UpdateRequest,
  old: JsonObject,
  value: Buffer,
): JsonObject | Promise<JsonObject> {
  if (isHeavy(request)) return servedObject(store, request, value);
  return request.leavesCurrent ? old : copyJson(old);
}

async function updateOnce(
  store: StoredResource,
  given: UpdateRequest,
  current: CachedObject,
): Promise<UpdateOutcome | 'raced'> {
  const request = weighed(given, current.value);
  const old = await servedObject(store, request, current.value);
  const oldMeta = metadataOf(old);
  const object = await request.change(
    request.replaces ? undefined : await forChange(store, request, old, current.value),
  );
  const metadata = ensureMeta(object);
  checkIdentity(store, request, metadata);
  checkRevision(store, request, metadata, oldMeta);
  const context = strategyContext(store, request.namespace, request);
  await turnOf(store, request);
  const admitted = await admit(store, request, object, old, context);
  const { context: asked, dryRun } = request;
  const undo = await store.deps.hooks?.beforeUpdate?.(admitted.object, old, { context: asked, dryRun });
  /** As for a create. */
  let isStored: boolean | undefined = false;
  try {
    await validate(store, request, admitted, old, context);
    if (dryRun) {
      const result = await dryRunResult(
        store,
        admitted.object,
        current.revision,
        request,
        admitted.admission,
      );
      return { ...result, created: false };
    }
    const writing = write(store, request, current, admitted, oldMeta);
    const outcome = await writing.catch((error: unknown) => {
      if (isUnknownOutcome(error)) isStored = undefined;
      throw error;
    });
    if (outcome === 'raced') return 'raced';
    isStored = true;
    await store.deps.hooks?.afterUpdate?.(admitted.object, old);
    return outcome;
  } finally {
    if (isStored === false) await undo?.();
    if (isStored !== undefined) admitted.admission?.end();
  }
}

type StrategyContext = ReturnType<typeof strategyContext>;

interface Admitted {
  readonly object: JsonObject;
  readonly admission: WriteAdmission | undefined;
}

/** Of a subresource that is another kind, admission sees that. */
function updateAdmission(
  store: StoredResource,
  { view, namespace, name, ...options }: UpdateRequest,
  given: JsonObject,
  old: JsonObject,
): WriteAdmission | undefined {
  const [object, oldObject] = view ? [view.get(given), view.get(old)] : [given, old];
  return admissionRequest(store, { operation: 'UPDATE', namespace, name, object, oldObject }, options);
}

/**
 * What admission, strategy and the ownership of fields make of the object. As upstream, plugins see what was asked for:
 * what the request may not write is put back after them.
 */
async function admit(
  store: StoredResource,
  request: UpdateRequest,
  given: JsonObject,
  old: JsonObject,
  context: StrategyContext,
): Promise<Admitted> {
  const { declaration, fields } = store.deps;
  carryOverMeta(ensureMeta(given), metadataOf(old));
  if (request.replaces) uniqueOwners(given, request, false);
  const { view } = request;
  const admission = updateAdmission(store, request, given, old);
  const shown = admission?.object;
  if (admission) await askToAdmit(store, admission);
  const byWebhook = admission !== undefined && admission.object !== shown;
  const admitted = admission?.object ?? given;
  if (byWebhook && !view) refillMeta(store, request, admitted, old);
  if (!view) uniqueOwners(admitted, request, true);
  let object = prepare(store, view && admission ? view.apply(given, admitted) : admitted, old, context);
  const asked = byWebhook ? prepare(store, given, old, context) : object;
  let tracked = asked;
  if (request.fieldManager !== '' && fields)
    tracked = await stepped(
      store,
      request,
      fields.update({
        declaration,
        live: old,
        object: asked,
        manager: request.fieldManager,
        subresource: request.subresource,
        now: context.now,
      }),
    );
  if (byWebhook) await keepOwnership(store, request, object, given, tracked);
  else object = tracked;
  return { object: await stepped(store, request, liveIfUnchanged(old, object)), admission };
}

/** What a webhook made of the metadata of an update is held to what holds for the client's own. */
function refillMeta(
  store: StoredResource,
  request: UpdateRequest,
  admitted: JsonObject,
  old: JsonObject,
): void {
  const metadata = ensureMeta(admitted);
  const oldMeta = metadataOf(old);
  checkNamespace(store.declaration, request.namespace, metadata);
  carryOverMeta(metadata, oldMeta);
  checkResourceVersion(store, request, metadata, oldMeta);
}

function* updateErrors(
  { declaration }: StoredResource,
  object: JsonObject,
  old: JsonObject,
  context: StrategyContext,
  rules: WrittenRules | undefined,
): Steps<FieldError[]> {
  const errors = yield* validateObjectMetaUpdate(ensureMeta(object), metadataOf(old), declaration);
  yield;
  const own = declaration.strategy.validateUpdate?.(object, old, context) ?? [];
  // What warns looks at all of it again.
  yield;
  return [...errors, ...own, ...(rules ? yield* rules(object, old, context, own) : [])];
}

/** Throws what is wrong with it by its kind, then what the validating plugins say. */
async function validate(
  store: StoredResource,
  request: UpdateRequest,
  { object, admission }: Admitted,
  old: JsonObject,
  context: StrategyContext,
): Promise<void> {
  const rules = await writtenRules(store, object, old, context);
  await refuseInvalid(store, request, object, updateErrors(store, object, old, context, rules), rules);
  warnAbout(store, object, old, request);
  if (!admission) return;
  admission.object = request.view ? request.view.get(object) : object;
  await store.deps.admission.validate(admission);
}

/** Throws 409 when the client names another revision, or another object of this name. */
function checkRevision(
  store: StoredResource,
  request: UpdateRequest,
  metadata: JsonObject,
  oldMeta: JsonObject,
): void {
  // Of a patch upstream finds that it would make it another object when it looks at the result.
  if (request.replaces) checkStoragePreconditions(placeOf(store, request), oldMeta, { uid: metadata['uid'] });
  checkResourceVersion(store, request, metadata, oldMeta);
}

function checkResourceVersion(
  { declaration }: StoredResource,
  request: UpdateRequest,
  metadata: JsonObject,
  oldMeta: JsonObject,
): void {
  const sent = str(metadata['resourceVersion']);
  if (sent === '' || sent === '0') {
    if (declaration.strategy.allowUnconditionalUpdate === false)
      // As upstream, whose store knows resources and not kinds.
      throw invalidObject({ group: declaration.group, kind: declaration.resource }, request.name, [
        invalid('metadata.resourceVersion', 0, 'must be specified for an update'),
      ]);
    return;
  }
  if (sent !== oldMeta['resourceVersion']) throw conflict(declaration, request.name, optimisticLock);
}

function prepare(
  store: StoredResource,
  object: JsonObject,
  old: JsonObject,
  context: { readonly now: string; readonly namespace: string; readonly subresource: string },
): JsonObject {
  const { declaration } = store;
  let prepared = object;
  if (context.subresource === 'status') {
    const { keptByStatus } = declaration.strategy;
    prepared = { ...old, metadata: metadataOfStatus(keptByStatus, metadataOf(object), metadataOf(old)) };
    if (object['status'] === undefined) delete prepared['status'];
    else prepared['status'] = object['status'];
  } else if (context.subresource === '' && declaration.hasStatus) {
    if (old['status'] === undefined) delete prepared['status'];
    else prepared['status'] = old['status'];
  }
  declaration.strategy.prepareForUpdate?.(prepared, old, context);
  const counted =
    context.subresource !== 'status' &&
    declaration.strategy.uncountedSubresources?.includes(context.subresource) !== true;
  if (declaration.hasGeneration && counted && specChanged(prepared, old))
    ensureMeta(prepared)['generation'] = num(metadataOf(old)['generation']) + 1;
  return prepared;
}

async function write(
  store: StoredResource,
  request: UpdateRequest,
  current: CachedObject,
  { object, admission }: Admitted,
  oldMeta: JsonObject,
): Promise<UpdateOutcome | 'raced'> {
  const { cache, hooks } = store.deps;
  const { draft, stored } = await toDraft(store, object, request, admission);
  const last =
    oldMeta['deletionTimestamp'] !== undefined &&
    (oldMeta['deletionGracePeriodSeconds'] ?? 0) === 0 &&
    strs(metadataOf(object)['finalizers']).length === 0 &&
    store.declaration.strategy.holdsDeletion?.(object) !== true;
  if (last) {
    const deleted = await store.written(request, () =>
      cache.delete(request.namespace, request.name, draft, stored, current.revision),
    );
    if (!deleted.ok) return 'raced';
    await hooks?.afterDelete?.(object);
    return {
      value: await store.servedBytes(deleted.entry.value),
      revision: deleted.entry.revision,
      created: false,
    };
  }
  // As upstream: a write that changes nothing makes no revision and no event.
  if (isStampOf(current.value, draft, current.revision) && !cache.isStale(request.namespace, request.name)) {
    // Nothing is written that could show how old the cached object is.
    if (!(await store.isNewest(request.namespace, request.name, current))) return 'raced';
    return { value: await store.servedBytes(current.value), revision: current.revision, created: false };
  }
  const urgent =
    oldMeta['deletionTimestamp'] === undefined ? draft : { ...draft, urgency: 'ending' as const };
  const written = await store.written(request, () =>
    cache.update(request.namespace, request.name, urgent, stored, current.revision),
  );
  if (!written.ok) return 'raced';
  const { value, revision } = written.entry;
  return { value: await store.servedBytes(value), revision, created: false };
}
