// Who owns which field after a create, an update or a patch that is no apply.
import { atOnce, type Steps } from '../../base/turns.ts';
import type { Json, JsonObject } from '../declaration.ts';
import { identicalJson } from '../equality.ts';
import { StatusError } from '../errors.ts';
import { isJsonObject, own } from '../patch/own-property.ts';
import { createdFields } from './created-fields.ts';
import type { FieldSet } from './field-set.ts';
import { difference, emptySet, isEmptySet, setOfPaths, setsEqual, union } from './field-set.ts';
import type { Manager, Managers } from './managed-fields.ts';
import {
  capUpdaters,
  decodeManagedFields,
  encodeManagedFields,
  entryOf,
  identityOf,
  isReset,
  managedFieldsOf,
  serverFields,
  setOf,
  setOfManager,
  sharedWith,
  storedManagers,
  withoutServerFields,
} from './managed-fields.ts';
import { compareSteps } from './typed-compare.ts';
import type { TypedSchema } from './typed-schema.ts';
import { typedSchemaOf } from './typed-schema.ts';
import { bringUpToDate, Change, type VersionsOfObject } from './versioned-object.ts';

export interface Writer extends VersionsOfObject {
  readonly manager: string;
  /** '' for the main resource. */
  readonly subresource: string;
  /** Now, RFC 3339 in seconds. */
  readonly time: string;
}

export interface TrackedUpdate extends Writer {
  /** What is stored; undefined for a create. */
  readonly live: JsonObject | undefined;
  /** What is going to be stored, defaulted; its metadata.managedFields is what the request held. */
  readonly result: JsonObject;
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
  try {
    yield* recordUpdate(managers, update, schema);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    // As upstream: what some manager owns can't be told just now, so that everybody keeps what they had.
    return withEntries(result, managedFieldsOf(live));
  }
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

export function* decodedOrNone(entries: Json | undefined): Steps<Managers> {
  try {
    return yield* decodeManagedFields(entries);
  } catch {
    return new Map();
  }
}

function* recordUpdate(managers: Managers, update: TrackedUpdate, schema: TypedSchema): Steps<void> {
  bringUpToDate(managers, update);
  // managedFields themselves are no field that anyone changes.
  const live = update.live && withoutManagedFields(update.live);
  const result = withoutManagedFields(update.result);
  const changes = yield* compareSteps(schema, live, result, live === undefined);
  yield;
  yield* gainAndLose(managers, update, new Change(update, live, result, changes));
  capUpdaters(managers);
}

function* gainAndLose(managers: Managers, update: TrackedUpdate, change: Change): Steps<void> {
  const { written, removed } = change.own;
  const gained = withoutServerFields(written);
  const self = updaterOf(update);
  const id = identityOf(self);
  if (isEmptySet(gained) && isEmptySet(removed)) return;
  yield* takeFromOthers(managers, id, change);
  yield;
  const before = managers.get(id);
  const owned = before === undefined ? emptySet : yield* setOf(before);
  yield;
  if (before !== undefined && !isEmptySet(removed)) {
    const set = difference(owned, removed);
    if (set !== owned) setOfManager(managers, id, { ...before, set, encoded: undefined });
  }
  if (isEmptySet(gained)) return;
  const set = union(managers.get(id)?.set ?? emptySet, gained);
  managers.set(id, { ...self, set, encoded: sameSet(before, set) });
}

export const sameSet = (before: Manager | undefined, set: FieldSet): Json | undefined =>
  before !== undefined && setsEqual(before.set, set) ? before.encoded : undefined;

/** What one manager writes, the others lose; what is gone, all lose. Each in the version that it wrote itself. */
export function* takeFromOthers(managers: Managers, id: string, change: Change): Steps<void> {
  for (const [otherId, other] of [...managers]) {
    if (otherId === id) continue;
    const { lost } = change.known(other.apiVersion) ?? (yield* change.in(other.apiVersion));
    if (isEmptySet(lost) || isEmptySet(yield* sharedWith(other, lost))) continue;
    setOfManager(managers, otherId, { ...other, set: difference(other.set, lost), encoded: undefined });
  }
}

export function withoutManagedFields(object: JsonObject): JsonObject {
  const metadata = own(object, 'metadata');
  if (!isJsonObject(metadata) || metadata.managedFields === undefined) return object;
  return { ...object, metadata: { ...metadata, managedFields: undefined } };
}

export function* withManagedFields(
  object: JsonObject,
  managers: Managers,
  current: Json | undefined,
): Steps<JsonObject> {
  const metadata = isJsonObject(object.metadata) ? object.metadata : {};
  if (managers.size === 0 && current === undefined && metadata.managedFields === undefined) return object;
  return withEntries(object, managers.size === 0 ? undefined : yield* encodeManagedFields(managers));
}

function withEntries(object: JsonObject, entries: Json | undefined): JsonObject {
  const { managedFields: _, ...rest } = isJsonObject(object.metadata) ? object.metadata : {};
  return { ...object, metadata: entries === undefined ? rest : { ...rest, managedFields: entries } };
}
