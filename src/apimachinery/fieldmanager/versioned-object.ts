// An object as its managers know it: each in the version that it wrote.
import { answered, type Steps } from '../../base/turns.ts';
import type { JsonObject, SchemaSource } from '../declaration.ts';
import { type FieldSet, matchingOf, recursiveDifference, setOfPaths, union } from './field-set.ts';
import type { Manager, Managers } from './managed-fields.ts';
import { reconciled } from './reconcile-schema.ts';
import { type Comparison, compareSteps, written } from './typed-compare.ts';
import { type TypedSchema, typedSchemaOf } from './typed-schema.ts';

/** One version of a kind. */
export interface VersionedKind {
  readonly schema: SchemaSource;
  /** Full name of the object's type. */
  readonly type: string;
  /** Fields that the (sub)resource never writes and so nobody owns through it: `[['status']]`. */
  readonly resetFields?: readonly (readonly string[])[] | undefined;
  /** The only ones that anybody can own through it, `*` for any element. Default: all others. */
  readonly onlyFields?: readonly (readonly string[])[] | undefined;
}

export interface OtherVersion extends VersionedKind {
  /** Of an object in whatever version of the kind: a copy in this one. Throws StatusError. */
  readonly convert: (object: JsonObject) => JsonObject | Promise<JsonObject>;
}

/** What the managers of one object are looked at with. */
export interface VersionsOfObject extends VersionedKind {
  /** Of the request: `apps/v1`. */
  readonly apiVersion: string;
  /** Any version of the kind, this one too; undefined for what is no version of it any more. Default: there is only this one. */
  readonly otherVersion?: ((apiVersion: string) => OtherVersion | undefined) | undefined;
  /** The object may have been written when its schema said something else. */
  readonly outdated?: boolean | undefined;
}

const kindIn = (versions: VersionsOfObject, apiVersion: string): VersionedKind =>
  apiVersion === versions.apiVersion ? versions : versions.otherVersion!(apiVersion)!;

export function schemaIn(versions: VersionsOfObject, apiVersion: string): TypedSchema {
  const { schema, type } = kindIn(versions, apiVersion);
  return typedSchemaOf(schema, type);
}

/** What can be owned through the request. */
export interface Ownable {
  readonly reset: FieldSet;
  readonly only: FieldSet | undefined;
}

/** In one of the versions. */
export function ownableIn(versions: VersionsOfObject, apiVersion: string): Ownable {
  const { onlyFields, resetFields = [] } = kindIn(versions, apiVersion);
  return { reset: setOfPaths(resetFields), only: onlyFields && setOfPaths(onlyFields) };
}

export function ownableOf(set: FieldSet, { only, reset }: Ownable): FieldSet {
  const rest = recursiveDifference(set, reset);
  return only === undefined ? rest : matchingOf(rest, only);
}

export function* inVersion(
  versions: VersionsOfObject,
  object: JsonObject,
  apiVersion: string,
): Steps<JsonObject> {
  if (object.apiVersion === apiVersion) return object;
  const made = versions.otherVersion!(apiVersion)!.convert(object);
  return made instanceof Promise ? yield* answered(made) : made;
}

/** Who wrote a version that there is no more has lost what it owned; what became one value since is owned as one. */
export function bringUpToDate(managers: Managers, versions: VersionsOfObject): void {
  for (const [id, manager] of managers) {
    const isOther = manager.apiVersion !== versions.apiVersion;
    if (isOther && versions.otherVersion?.(manager.apiVersion) === undefined) managers.delete(id);
    else if (versions.outdated === true) bringSetUpToDate(managers, id, manager, versions);
  }
}

function bringSetUpToDate(
  managers: Managers,
  id: string,
  manager: Manager,
  versions: VersionsOfObject,
): void {
  const set = reconciled(schemaIn(versions, manager.apiVersion), manager.set);
  if (set !== manager.set) managers.set(id, { ...facts(manager), set });
}

const facts = ({ manager, operation, apiVersion, subresource, time }: Manager): Omit<Manager, 'set'> => ({
  manager,
  operation,
  apiVersion,
  subresource,
  time,
});

/** What a write does to the fields of one version. */
export interface Told {
  /** Added and modified: what the writer owns from now on. */
  readonly written: FieldSet;
  readonly removed: FieldSet;
  /** What everybody else owns no more. */
  readonly lost: FieldSet;
}

function toldOf(changes: Comparison): Told {
  const all = written(changes);
  return { written: all, removed: changes.removed, lost: union(all, changes.removed) };
}

/** How an object changes, in the versions that somebody asks for. */
export class Change {
  /** In the version of the request. */
  readonly own: Told;
  readonly #versions: VersionsOfObject;
  readonly #from: JsonObject | undefined;
  readonly #to: JsonObject;
  #others: Map<string, Told> | undefined;

  constructor(versions: VersionsOfObject, from: JsonObject | undefined, to: JsonObject, own: Comparison) {
    this.#versions = versions;
    this.#from = from;
    this.#to = to;
    this.own = toldOf(ownableChanges(own, ownableIn(versions, versions.apiVersion)));
  }

  /** undefined: it has to be made first. */
  known(apiVersion: string): Told | undefined {
    return apiVersion === this.#versions.apiVersion ? this.own : this.#others?.get(apiVersion);
  }

  *in(apiVersion: string): Steps<Told> {
    const known = this.known(apiVersion);
    if (known !== undefined) return known;
    const from = this.#from && (yield* inVersion(this.#versions, this.#from, apiVersion));
    const to = yield* inVersion(this.#versions, this.#to, apiVersion);
    const schema = schemaIn(this.#versions, apiVersion);
    const changes = yield* compareSteps(schema, from, to, from === undefined);
    const told = toldOf(ownableChanges(changes, ownableIn(this.#versions, apiVersion)));
    this.#others ??= new Map();
    this.#others.set(apiVersion, told);
    return told;
  }
}

/** What the request can't write it does not change. */
export function ownableChanges(changes: Comparison, ownable: Ownable): Comparison {
  const { added, modified, removed } = changes;
  const { only, reset } = ownable;
  if (only === undefined && !(touches(added, reset) || touches(modified, reset) || touches(removed, reset)))
    return changes;
  return {
    added: ownableOf(added, ownable),
    modified: ownableOf(modified, ownable),
    removed: ownableOf(removed, ownable),
  };
}

function touches({ children }: FieldSet, ignored: FieldSet): boolean {
  if (children !== undefined && ignored.children !== undefined)
    for (const element of ignored.children.keys()) if (children.has(element)) return true;
  return false;
}
