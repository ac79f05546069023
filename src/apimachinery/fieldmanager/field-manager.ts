// Who owns which field: server-side apply, and the tracking of every other write.
import { atOnce, type Steps } from '../../base/turns.ts';
import type { Json, JsonObject, SchemaSource } from '../declaration.ts';
import { identicalJson } from '../equality.ts';
import type { StatusCause } from '../errors.ts';
import { badRequest, StatusError } from '../errors.ts';
import { isJsonObject, own } from '../patch/own-property.ts';
import { assertShallow, unclassified } from '../patch/patch-error.ts';
import { createdFields } from './created-fields.ts';
import type { FieldSet } from './field-set.ts';
import {
  difference,
  emptySet,
  intersection,
  isEmptySet,
  recursiveDifference,
  setOfPaths,
  setsEqual,
  union,
  unionAll,
} from './field-set.ts';
import { withLastApplied, withoutLastApplied } from './last-applied.ts';
import type { Conflict, Manager, Managers } from './managed-fields.ts';
import {
  capUpdaters,
  conflictPaths,
  decodeManagedFields,
  encodeManagedFields,
  entryOf,
  identityOf,
  isReset,
  managedFieldsOf,
  managerText,
  serverFields,
  setOf,
  setOfManager,
  sharedWith,
  storedManagers,
  withoutServerFields,
} from './managed-fields.ts';
import { TypedError } from './path-element.ts';
import type { Comparison } from './typed-compare.ts';
import { compare, compareSteps, written } from './typed-compare.ts';
import { merge, pruneOwned } from './typed-merge.ts';
import type { TypedSchema } from './typed-schema.ts';
import { typedSchemaOf } from './typed-schema.ts';
import { fieldSetOf } from './typed-set.ts';

interface Writer {
  readonly manager: string;
  /** '' for the main resource. */
  readonly subresource: string;
  /** Of the request: `apps/v1`. */
  readonly apiVersion: string;
  /** Now, RFC 3339 in seconds. */
  readonly time: string;
  readonly schema: SchemaSource;
  /** Full name of the object's type. */
  readonly type: string;
  /** Fields that this (sub)resource never writes and so nobody owns through it: `[['status']]`. */
  readonly resetFields?: readonly (readonly string[])[] | undefined;
}

export interface TrackedUpdate extends Writer {
  /** What is stored; undefined for a create. */
  readonly live: JsonObject | undefined;
  /** What is going to be stored, defaulted; its metadata.managedFields is what the request held. */
  readonly result: JsonObject;
}

export interface ApplyRequest extends Writer {
  /** What is stored, undefined when the apply creates. */
  readonly live: JsonObject | undefined;
  /** The applied object. */
  readonly patch: Json;
  readonly force: boolean;
}

/** Records a create, update or non-apply patch. Returns `result` with its managedFields; changes no argument. */
export const trackUpdate = (update: TrackedUpdate): JsonObject => atOnce(trackUpdateSteps(update));

/** The same in steps, for large objects. */
export function* trackUpdateSteps(update: TrackedUpdate): Steps<JsonObject> {
  const { live, result } = update;
  const requested = managedFieldsOf(result);
  const managers = yield* managersFor(update, requested);
  yield;
  // Objects whose ownership was reset, or that come from before there was any, stay untracked until the next apply.
  if (managers.size === 0 && live !== undefined) return yield* withManagedFields(result, managers, requested);
  const schema = typedSchemaOf(update.schema, update.type);
  if (live === undefined && managers.size === 0) return yield* created(update, schema);
  // managedFields themselves are no field that anyone changes.
  const changes = yield* compareSteps(
    schema,
    live && withoutManagedFields(live),
    withoutManagedFields(result),
    live === undefined,
  );
  yield;
  const ignored = setOfPaths(update.resetFields ?? []);
  yield* recordUpdate(managers, update, changes, ignored);
  yield;
  return yield* withManagedFields(result, managers, requested);
}

/** Nobody else is there to lose anything: one walk, and no sets. */
function* created(update: TrackedUpdate, schema: TypedSchema): Steps<JsonObject> {
  const { result } = update;
  const leftOut = { all: setOfPaths(update.resetFields ?? []), exact: serverFields };
  const fieldsV1 = yield* createdFields(schema, withoutManagedFields(result), leftOut);
  const { managedFields: _, ...rest } = isJsonObject(result.metadata) ? result.metadata : {};
  if (fieldsV1 === undefined) return { ...result, metadata: rest };
  return { ...result, metadata: { ...rest, managedFields: [entryOf(updaterOf(update), fieldsV1)] } };
}

const updaterOf = (writer: Writer): Omit<Manager, 'set'> => ({
  manager: writer.manager,
  operation: 'Update',
  apiVersion: writer.apiVersion,
  subresource: writer.subresource,
  time: writer.time,
});

function* managersFor({ live, subresource }: TrackedUpdate, requested: Json | undefined): Steps<Managers> {
  const kept = managedFieldsOf(live);
  const stored = function* (): Steps<Managers> {
    return storedManagers(kept) ?? (yield* decodedOrNone(kept));
  };
  // A subresource cannot be used to write ownership.
  if (subresource !== '') return yield* stored();
  if (isReset(requested)) return new Map();
  if (identicalJson(requested, kept)) return yield* stored();
  const given = yield* decodedOrNone(requested);
  return given.size === 0 ? yield* stored() : given;
}

function* decodedOrNone(entries: Json | undefined): Steps<Managers> {
  try {
    return yield* decodeManagedFields(entries);
  } catch {
    return new Map();
  }
}

function* recordUpdate(
  managers: Managers,
  writer: Writer,
  changes: Comparison,
  ignored: FieldSet,
): Steps<void> {
  const gained = withoutServerFields(recursiveDifference(written(changes), ignored));
  const self = updaterOf(writer);
  const id = identityOf(self);
  yield;
  if (isEmptySet(gained) && isEmptySet(changes.removed)) return;
  yield* takeFromOthers(managers, id, gained, changes.removed);
  yield;
  const before = managers.get(id);
  const owned = before === undefined ? emptySet : yield* setOf(before);
  yield;
  if (before !== undefined && !isEmptySet(changes.removed)) {
    const set = difference(owned, changes.removed);
    if (set !== owned) setOfManager(managers, id, { ...before, set, encoded: undefined });
  }
  if (isEmptySet(gained)) return;
  const set = union(managers.get(id)?.set ?? emptySet, gained);
  managers.set(id, { ...self, set, encoded: sameSet(before, set) });
  capUpdaters(managers);
}

const sameSet = (before: Manager | undefined, set: FieldSet): Json | undefined =>
  before !== undefined && setsEqual(before.set, set) ? before.encoded : undefined;

/** What one manager writes, the others lose; what is gone, all lose. */
function* takeFromOthers(managers: Managers, id: string, gained: FieldSet, removed: FieldSet): Steps<void> {
  const lost = union(gained, removed);
  if (isEmptySet(lost)) return;
  for (const [otherId, other] of [...managers]) {
    if (otherId === id || isEmptySet(yield* sharedWith(other, lost))) continue;
    setOfManager(managers, otherId, { ...other, set: difference(other.set, lost), encoded: undefined });
  }
}

/** The live object with the patch applied, before defaulting. Throws StatusError 400, 409 or 500 as upstream. */
export const applyPatch = (request: ApplyRequest): JsonObject => atOnce(applySteps(request));

/** The same in steps, for large objects. */
export function* applySteps(request: ApplyRequest): Steps<JsonObject> {
  const { live, patch } = request;
  if (!isJsonObject(patch)) throw badRequest('error decoding YAML: the applied object must be a map');
  assertShallow(patch);
  const given = managedFieldsOf(patch);
  if (given !== undefined && given !== null) throw badRequest('metadata.managedFields must be nil');
  if (patch.apiVersion !== request.apiVersion)
    throw badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${String(patch.apiVersion ?? '')}, expected: ${request.apiVersion}`,
    );
  const schema = typedSchemaOf(request.schema, request.type);
  const ignored = setOfPaths(request.resetFields ?? []);
  yield;
  const sent = appliedSet(schema, patch);
  yield;
  const applied = withoutServerFields(recursiveDifference(sent, ignored));
  yield;
  const before = live === undefined ? {} : withoutManagedFields(live);
  const managers = yield* managersBeforeApply(request, schema, before);
  yield;

  const self: Omit<Manager, 'set'> = {
    manager: request.manager,
    operation: 'Apply',
    apiVersion: request.apiVersion,
    subresource: request.subresource,
    time: request.time,
  };
  const id = identityOf(self);
  const last = managers.get(id);
  const mine: Manager = { ...self, set: applied, encoded: sameSet(last, applied) };
  setOfManager(managers, id, mine);

  let result = merge(schema, before, patch) as JsonObject;
  yield;
  if (last !== undefined) {
    const owned = unionAll([...managers.values()].map((manager) => manager.set));
    // Server fields are in nobody's set, and never pruned: `last` has none of them either.
    result = pruneOwned(schema, result, last.set, owned) as JsonObject;
    yield;
  }
  const changes = yield* compareSteps(schema, before, result);
  yield;
  const gained = written(changes);
  const conflicts = conflictsWith(managers, id, gained);
  yield;
  if (!request.force) {
    const kept = withoutLastApplied(conflicts, request.manager, schema, live, request.apiVersion);
    if (kept.length > 0) throw applyConflict(kept);
  }
  yield* takeFromOthers(managers, id, unionAll(conflicts.map((conflict) => conflict.set)), changes.removed);
  yield;
  const unchanged =
    last !== undefined &&
    mine.encoded !== undefined &&
    last.apiVersion === mine.apiVersion &&
    identicalJson(before, result);
  yield;
  if (unchanged && managers.has(id)) managers.set(id, { ...mine, time: last.time });
  result = withLastApplied(result, patch, request.manager);
  yield;
  return yield* withManagedFields(result, managers, managedFieldsOf(live));
}

function appliedSet(schema: TypedSchema, patch: JsonObject): FieldSet {
  try {
    return fieldSetOf(schema, patch);
  } catch (error) {
    if (!(error instanceof TypedError)) throw error;
    throw unclassified(`failed to create typed patch object (${describe(patch)}): ${error.message}`);
  }
}

/** `default/web; apps/v1, Kind=Deployment`. */
function describe(object: JsonObject): string {
  const metadata = isJsonObject(object.metadata) ? object.metadata : {};
  const version = String(object.apiVersion ?? '');
  const gvk = `${version.includes('/') ? version : `/${version}`}, Kind=${String(object.kind ?? '')}`;
  return `${String(metadata.namespace ?? '')}/${String(metadata.name ?? '')}; ${gvk}`;
}

/** An object that nobody owns yet belongs to `before-first-apply` as it is. */
function* managersBeforeApply(
  request: ApplyRequest,
  schema: TypedSchema,
  before: JsonObject,
): Steps<Managers> {
  const managers = yield* decodedOrNone(managedFieldsOf(request.live));
  if (managers.size > 0 || request.live === undefined) return managers;
  const changes = compare(schema, undefined, before, true);
  const first: Manager = {
    manager: 'before-first-apply',
    operation: 'Update',
    apiVersion: request.apiVersion,
    subresource: '',
    time: request.time,
    set: withoutServerFields(written(changes)),
  };
  setOfManager(managers, identityOf(first), first);
  return managers;
}

function conflictsWith(managers: Managers, id: string, gained: FieldSet): Conflict[] {
  const conflicts: Conflict[] = [];
  if (isEmptySet(gained)) return conflicts;
  for (const [otherId, manager] of managers) {
    if (otherId === id) continue;
    const set = intersection(manager.set, gained);
    if (!isEmptySet(set)) conflicts.push({ manager, set });
  }
  return conflicts.sort((a, b) => (identityOf(a.manager) < identityOf(b.manager) ? -1 : 1));
}

function applyConflict(conflicts: readonly Conflict[]): StatusError {
  const causes: StatusCause[] = conflicts.flatMap((conflict) =>
    conflictPaths(conflict).map((field) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with ${managerText(conflict.manager)}`,
      field,
    })),
  );
  const message =
    causes.length === 1
      ? `Apply failed with 1 conflict: ${causes[0]!.message}: ${causes[0]!.field}`
      : `Apply failed with ${causes.length} conflicts: ${conflicts
          .flatMap((c) => [
            `conflicts with ${managerText(c.manager)}:`,
            ...conflictPaths(c).map((path) => `- ${path}`),
          ])
          .join('\n')}`;
  return new StatusError(409, 'Conflict', message, { causes });
}

function withoutManagedFields(object: JsonObject): JsonObject {
  const metadata = own(object, 'metadata');
  if (!isJsonObject(metadata) || metadata.managedFields === undefined) return object;
  return { ...object, metadata: { ...metadata, managedFields: undefined } };
}

function* withManagedFields(
  object: JsonObject,
  managers: Managers,
  current: Json | undefined,
): Steps<JsonObject> {
  const metadata = isJsonObject(object.metadata) ? object.metadata : {};
  if (managers.size === 0 && current === undefined && metadata.managedFields === undefined) return object;
  const { managedFields: _, ...rest } = metadata;
  if (managers.size === 0) return { ...object, metadata: rest };
  return { ...object, metadata: { ...rest, managedFields: yield* encodeManagedFields(managers) } };
}
