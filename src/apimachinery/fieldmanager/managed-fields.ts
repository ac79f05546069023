// metadata.managedFields as managers with their sets, and back.
import { atOnce, type Steps } from '../../base/turns.ts';
import type { Json, JsonObject } from '../declaration.ts';
import { badRequest } from '../errors.ts';
import { str } from '../json-access.ts';
import { isJsonObject, own } from '../patch/own-property.ts';
import type { FieldSet } from './field-set.ts';
import {
  decodeFieldSetSteps,
  difference,
  emptySet,
  encodeFieldSetSteps,
  intersection,
  isEmptySet,
  pathsOf,
  setOfPaths,
  unionAll,
} from './field-set.ts';

export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string | undefined;
  readonly set: FieldSet;
  /** The set as it came, while it is still the same: saves encoding it again. */
  readonly encoded?: Json | undefined;
}

/** As it is stored: what is in its set is read when somebody asks, and most writes ask that of few. */
class StoredManager implements Manager {
  readonly manager: string;
  readonly operation: Manager['operation'];
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string | undefined;
  readonly encoded: Json;
  #set: FieldSet | undefined;

  constructor(facts: Omit<Manager, 'set' | 'encoded'>, encoded: Json) {
    this.manager = facts.manager;
    this.operation = facts.operation;
    this.apiVersion = facts.apiVersion;
    this.subresource = facts.subresource;
    this.time = facts.time;
    this.encoded = encoded;
  }

  get set(): FieldSet {
    return atOnce(this.read());
  }

  /** What makes no sense owns nothing. */
  *read(): Steps<FieldSet> {
    try {
      this.#set ??= yield* decodeFieldSetSteps(this.encoded);
    } catch {
      this.#set = emptySet;
    }
    return this.#set;
  }
}

/** False: the two have no member in common. Nothing is decoded. */
function mayShareAny(encoded: Json | undefined, set: FieldSet): boolean {
  if (!isJsonObject(encoded)) return false;
  for (const [key, child] of set.children ?? [])
    if (Object.hasOwn(encoded, key) && (child.self || mayShareAny(encoded[key], child))) return true;
  return false;
}

/** In steps, should it be large and not read yet. */
export function* setOf(manager: Manager): Steps<FieldSet> {
  return manager instanceof StoredManager ? yield* manager.read() : manager.set;
}

/** What the manager has of `lost`, which for most is nothing. */
export function* sharedWith(manager: Manager, lost: FieldSet): Steps<FieldSet> {
  const mayShare = !(manager instanceof StoredManager) || mayShareAny(manager.encoded, lost);
  return mayShare ? intersection(yield* setOf(manager), lost) : emptySet;
}

/** Managers by identity. */
export type Managers = Map<string, Manager>;

/** An applier is one manager whatever version it writes; an updater is one for each version. */
export function identityOf(
  manager: Pick<Manager, 'manager' | 'operation' | 'apiVersion' | 'subresource'>,
): string {
  return JSON.stringify({
    manager: manager.manager,
    operation: manager.operation,
    ...(manager.operation === 'Apply' ? {} : { apiVersion: manager.apiVersion }),
    ...(manager.subresource === '' ? {} : { subresource: manager.subresource }),
  });
}

export const managedFieldsOf = (object: JsonObject | undefined): Json | undefined => {
  const metadata = object === undefined ? undefined : own(object, 'metadata');
  return isJsonObject(metadata) ? own(metadata, 'managedFields') : undefined;
};

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

const factsOf = (entry: JsonObject, operation: Manager['operation']): Omit<Manager, 'set'> => ({
  manager: text(entry.manager),
  operation,
  apiVersion: text(entry.apiVersion),
  subresource: text(entry.subresource),
  time: typeof entry.time === 'string' ? entry.time : undefined,
});

/** Of an object that is stored. undefined: its entries are none that this server writes. */
export function storedManagers(entries: Json | undefined): Managers | undefined {
  const managers: Managers = new Map();
  if (!Array.isArray(entries)) return managers;
  for (const entry of entries) {
    if (!isJsonObject(entry) || !isJsonObject(entry.fieldsV1)) return undefined;
    const { operation } = entry;
    if (operation !== 'Apply' && operation !== 'Update') return undefined;
    const manager = new StoredManager(factsOf(entry, operation), entry.fieldsV1);
    const id = identityOf(manager);
    if (managers.has(id)) return undefined;
    managers.set(id, manager);
  }
  return managers;
}

/** Throws StatusError 400 for entries that make no sense. */
export function* decodeManagedFields(entries: Json | undefined): Steps<Managers> {
  const managers: Managers = new Map();
  if (!Array.isArray(entries)) return managers;
  const twice = new Map<string, FieldSet[]>();
  for (const entry of entries) {
    if (!isJsonObject(entry)) throw badRequest('managedFields entries must be objects');
    const operation = entry.operation;
    if (operation !== 'Apply' && operation !== 'Update')
      throw badRequest(`invalid operation ${JSON.stringify(operation ?? '')} of a managedFields entry`);
    if (text(entry.apiVersion) === '' || entry.fieldsType !== 'FieldsV1')
      throw badRequest('managedFields entries must have an apiVersion and fields of type FieldsV1');
    const set = yield* decodeFieldSetSteps(entry.fieldsV1 ?? {});
    const manager: Manager = { ...factsOf(entry, operation), set, encoded: entry.fieldsV1 };
    const id = identityOf(manager);
    const same = managers.get(id);
    managers.set(id, manager);
    if (same === undefined) continue;
    const sets = twice.get(id);
    if (sets === undefined) twice.set(id, [same.set, manager.set]);
    else sets.push(manager.set);
  }
  for (const [id, sets] of twice)
    managers.set(id, { ...managers.get(id)!, set: unionAll(sets), encoded: undefined });
  return managers;
}

/** Why upstream's ValidateManagedFields refuses them, in its words. */
export function* managedFieldsFault(entries: Json | undefined): Steps<string | undefined> {
  for (const [i, entry] of (Array.isArray(entries) ? entries : []).entries()) {
    const { operation, apiVersion, fieldsType, fieldsV1 } = isJsonObject(entry) ? entry : {};
    if (operation !== 'Apply' && operation !== 'Update') return 'operation must be `Apply` or `Update`';
    if (text(apiVersion) === '') return 'apiVersion must not be empty';
    if (text(fieldsType) === '') return `missing fieldsType in managed fields entry ${i}`;
    if (fieldsType !== 'FieldsV1')
      return `invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${i}`;
    try {
      yield* decodeFieldSetSteps(fieldsV1 ?? {});
    } catch (error) {
      return `error decoding versioned set from managed fields entry ${i}: error decoding set: ${(error as Error).message}`;
    }
  }
  return undefined;
}

/** A list of nothing, or of one empty entry, is how a client asks for no ownership at all. */
export const isReset = (entries: Json | undefined): boolean =>
  Array.isArray(entries) && (entries.length === 0 || (entries.length === 1 && saysNothing(entries[0])));

const saysNothing = (entry: Json | undefined): boolean =>
  isJsonObject(entry) &&
  Object.values(entry).every((value) => value === undefined || value === null || value === '');

export function* encodeManagedFields(managers: Managers): Steps<Json[]> {
  const sorted = [...managers.values()].sort(compareManagers);
  const entries: Json[] = [];
  for (const m of sorted) entries.push(entryOf(m, m.encoded ?? (yield* encodeFieldSetSteps(m.set))));
  return entries;
}

export const entryOf = (m: Omit<Manager, 'set'>, fieldsV1: Json): JsonObject => ({
  apiVersion: m.apiVersion,
  fieldsType: 'FieldsV1',
  fieldsV1,
  manager: m.manager,
  operation: m.operation,
  ...(m.subresource === '' ? {} : { subresource: m.subresource }),
  ...(m.time === undefined ? {} : { time: m.time }),
});

type Who = Omit<Manager, 'set' | 'encoded'>;

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
/** Upstream's order: appliers first, then by time, name, version and subresource. */
const compareManagers = (a: Who, b: Who): number =>
  order(a.operation, b.operation) ||
  order(a.time ?? '', b.time ?? '') ||
  order(a.manager, b.manager) ||
  order(a.apiVersion, b.apiVersion) ||
  order(a.subresource, b.subresource);

const whoOf = (entry: JsonObject): Who => ({
  manager: str(entry['manager']),
  operation: entry['operation'] === 'Apply' ? 'Apply' : 'Update',
  apiVersion: str(entry['apiVersion']),
  subresource: str(entry['subresource']),
  time: str(entry['time']),
});
/** Entries as they are stored, in that order. */
export const sortedEntries = (entries: readonly JsonObject[]): JsonObject[] =>
  entries.toSorted((a, b) => compareManagers(whoOf(a), whoOf(b)));

/** Fields that the server keeps: nobody owns them. */
export const serverFields: FieldSet = setOfPaths([
  ['apiVersion'],
  ['kind'],
  ['metadata'],
  ['metadata', 'name'],
  ['metadata', 'namespace'],
  ['metadata', 'creationTimestamp'],
  ['metadata', 'selfLink'],
  ['metadata', 'uid'],
  ['metadata', 'clusterName'],
  ['metadata', 'generation'],
  ['metadata', 'managedFields'],
  ['metadata', 'resourceVersion'],
]);
export const withoutServerFields = (set: FieldSet): FieldSet => difference(set, serverFields);

const maxUpdaters = 10;
const bucketName = 'ancient-changes';

/** More than ten updaters: the oldest of each version are put together, until ten are left. */
export function capUpdaters(managers: Managers): void {
  if (managers.size <= maxUpdaters) return;
  const updaters = [...managers]
    .filter(([, m]) => m.operation === 'Update')
    .sort(([, a], [, b]) => compareManagers(a, b));
  let count = updaters.length;
  /** What goes together, oldest first; the sets are united at the end, all at once. */
  const ofVersion = new Map<string, { readonly ids: string[]; last: Manager }>();
  for (const [id, manager] of updaters) {
    if (count <= maxUpdaters) break;
    const together = ofVersion.get(manager.apiVersion);
    if (together === undefined) {
      ofVersion.set(manager.apiVersion, { ids: [id], last: manager });
      continue;
    }
    together.ids.push(id);
    together.last = manager;
    count--;
  }
  for (const [apiVersion, { ids, last }] of ofVersion) {
    if (ids.length === 1) continue;
    const bucket: Omit<Manager, 'set'> = {
      manager: bucketName,
      operation: 'Update',
      apiVersion,
      subresource: '',
      time: last.time,
    };
    const bucketId = identityOf(bucket);
    const sets = [...new Set([bucketId, ...ids])].flatMap((id) => managers.get(id)?.set ?? []);
    for (const id of ids) managers.delete(id);
    managers.set(bucketId, { ...bucket, set: unionAll(sets) });
  }
}

/** The manager as messages name it: `"kubectl" with subresource "status" using apps/v1`. */
export function managerText(m: Manager): string {
  const name = `${JSON.stringify(m.manager)}${m.subresource === '' ? '' : ` with subresource ${JSON.stringify(m.subresource)}`}`;
  return m.operation === 'Update' ? `${name} using ${m.apiVersion}` : name;
}

export interface Conflict {
  readonly manager: Manager;
  readonly set: FieldSet;
}
export const conflictPaths = (conflict: Conflict): string[] => pathsOf(conflict.set);

export function setOfManager(managers: Managers, id: string, manager: Manager): void {
  if (isEmptySet(manager.set)) managers.delete(id);
  else managers.set(id, manager);
}
