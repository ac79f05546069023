// Server-side apply: what is applied is laid over the live object, what its manager applies no more goes, and who is in the way is told.
import { atOnce, type Steps } from '../../base/turns.ts';
import type { Json, JsonObject } from '../declaration.ts';
import { identicalJson } from '../equality.ts';
import { badRequest, type StatusCause, StatusError } from '../errors.ts';
import { isJsonObject } from '../patch/own-property.ts';
import { assertShallow, unclassified } from '../patch/patch-error.ts';
import {
  decodedOrNone,
  sameSet,
  takeFromOthers,
  type Writer,
  withManagedFields,
  withoutManagedFields,
} from './field-manager.ts';
import { type FieldSet, intersection, isEmptySet, unionAll } from './field-set.ts';
import { withLastApplied, withoutLastApplied } from './last-applied.ts';
import {
  type Conflict,
  conflictPaths,
  identityOf,
  type Manager,
  type Managers,
  managedFieldsOf,
  managerText,
  setOfManager,
  withoutServerFields,
} from './managed-fields.ts';
import { TypedError } from './path-element.ts';
import { pruneAcross } from './prune-versions.ts';
import { compare, compareSteps, written } from './typed-compare.ts';
import { merge, pruneOwned } from './typed-merge.ts';
import { type TypedSchema, typedSchemaOf } from './typed-schema.ts';
import { fieldSetOf } from './typed-set.ts';
import {
  bringUpToDate,
  Change,
  inVersion,
  ownableChanges,
  ownableIn,
  ownableOf,
} from './versioned-object.ts';

export interface ApplyRequest extends Writer {
  /** What is stored, undefined when the apply creates. */
  readonly live: JsonObject | undefined;
  /** The applied object. */
  readonly patch: Json;
  readonly force: boolean;
}

/** The live object with the patch applied, before defaulting. Throws StatusError 400, 409 or 500 as upstream. */
export const applyPatch = (request: ApplyRequest): JsonObject => atOnce(applySteps(request));

/** The same in steps: large objects take turns, and other versions may have to be asked for. */
export function* applySteps(request: ApplyRequest): Steps<JsonObject> {
  const patch = checkedPatch(request);
  const schema = typedSchemaOf(request.schema, request.type);
  yield;
  const sent = appliedSet(schema, patch);
  yield;
  const applied = withoutServerFields(ownableOf(sent, ownableIn(request, request.apiVersion)));
  yield;
  const before = request.live === undefined ? {} : withoutManagedFields(request.live);
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
  const lastTime = managers.get(id)?.time;
  bringUpToDate(managers, request);
  if (request.live !== undefined) yield* assertConvertible(request, before, managers);
  const last = managers.get(id);
  const mine: Manager = { ...self, set: applied, encoded: sameSet(last, applied) };
  setOfManager(managers, id, mine);

  const merged = merge(schema, before, patch) as JsonObject;
  yield;
  const result = last === undefined ? merged : yield* withoutLeftOut(request, merged, last, managers);
  yield;
  const change = new Change(request, before, result, yield* compareSteps(schema, before, result));
  yield;
  yield* assertNoConflict(request, schema, managers, change);
  yield* takeFromOthers(managers, id, change);
  yield;
  // As upstream: the time is that of the last apply that changed the object.
  const time = identicalJson(before, result) ? lastTime : request.time;
  if (managers.has(id)) managers.set(id, { ...mine, time });
  yield;
  const annotated = withLastApplied(result, patch, request.manager);
  yield;
  return yield* withManagedFields(annotated, managers, managedFieldsOf(request.live));
}

function checkedPatch({ patch, apiVersion }: ApplyRequest): JsonObject {
  if (!isJsonObject(patch)) throw badRequest('error decoding YAML: the applied object must be a map');
  assertShallow(patch);
  const given = managedFieldsOf(patch);
  if (given !== undefined && given !== null) throw badRequest('metadata.managedFields must be nil');
  if (patch.apiVersion === apiVersion) return patch;
  throw badRequest(
    `Incorrect version specified in apply patch. Specified patch version: ${String(patch.apiVersion ?? '')}, expected: ${apiVersion}`,
  );
}

/** As upstream: an apply fails when what somebody owns can't be told, whether or not it would touch it. */
function* assertConvertible(request: ApplyRequest, live: JsonObject, managers: Managers): Steps<void> {
  const told = new Set([request.apiVersion]);
  for (const { apiVersion } of managers.values()) {
    if (told.has(apiVersion)) continue;
    told.add(apiVersion);
    yield* inVersion(request, live, apiVersion);
  }
}

/** Without what this manager applied last time and nobody has any more. Server fields are in nobody's set, and stay. */
function* withoutLeftOut(
  request: ApplyRequest,
  merged: JsonObject,
  last: Manager,
  managers: Managers,
): Steps<JsonObject> {
  const all = [...managers.values()];
  const isOneVersion =
    last.apiVersion === request.apiVersion &&
    all.every(({ apiVersion }) => apiVersion === request.apiVersion);
  if (!isOneVersion) return yield* pruneAcross(request, merged, last, all);
  const owned = unionAll(all.map(({ set }) => set));
  return pruneOwned(typedSchemaOf(request.schema, request.type), merged, last.set, owned) as JsonObject;
}

function* assertNoConflict(
  request: ApplyRequest,
  schema: TypedSchema,
  managers: Managers,
  change: Change,
): Steps<void> {
  if (request.force) return;
  const conflicts: Conflict[] = [];
  for (const manager of managers.values()) {
    if (manager.operation === 'Apply' && isOf(manager, request)) continue;
    const { written: all } = change.known(manager.apiVersion) ?? (yield* change.in(manager.apiVersion));
    const set = intersection(manager.set, all);
    if (!isEmptySet(set)) conflicts.push({ manager, set });
  }
  const kept = withoutLastApplied(conflicts, request.manager, schema, request.live, request.apiVersion);
  if (kept.length > 0) throw applyConflict(kept);
}

const isOf = (one: Manager, { manager, subresource }: ApplyRequest): boolean =>
  one.manager === manager && one.subresource === subresource;

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
  const all = compare(schema, undefined, before, true);
  const changes = ownableChanges(all, ownableIn(request, request.apiVersion));
  const first: Manager = {
    manager: 'before-first-apply',
    operation: 'Update',
    apiVersion: request.apiVersion,
    subresource: request.subresource,
    time: request.time,
    set: withoutServerFields(written(changes)),
  };
  setOfManager(managers, identityOf(first), first);
  return managers;
}

function applyConflict(found: readonly Conflict[]): StatusError {
  const conflicts = [...found].sort((a, b) => (identityOf(a.manager) < identityOf(b.manager) ? -1 : 1));
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
