// What is stored of one resource, read from its cache in the served version; and the terms on which it is written.
import type { JsonObject, ResourceDeclaration } from '../../apimachinery/declaration.ts';
import { corruptObject, notFound, type StatusError } from '../../apimachinery/errors.ts';
import type { ReplicasPath } from '../../apimachinery/fieldmanager/scale-fields.ts';
import { dropNils } from '../../apimachinery/nil-values.ts';
import type { PlanSource } from '../../apimachinery/plan.ts';
import type { TableForm } from '../../apimachinery/table.ts';
import { dropZeros, dropZerosSteps } from '../../apimachinery/zero-values.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { atOnce, type Steps, type Turns } from '../../base/turns.ts';
import { revisionIn } from '../../storage/stamp.ts';
import type { KeyExists, RevisionConflict, Written } from '../../storage/storage.ts';
import type {
  CachedObject,
  CacheSource,
  IndexRecord,
  ResourceCache,
} from '../../storage/watch/resource-cache.ts';
import type { AdmissionChain } from '../admission/chain.ts';
import type { AuditedRequest } from '../audit/audited-request.ts';
import type { RequestContext } from '../request-context.ts';
import { decodeEntry, decodeEntrySteps } from './encode.ts';
import type { FieldTracker } from './field-manager.ts';
import { indexRecord } from './index-record.ts';
import type { KeptConversions } from './kept-conversions.ts';
import { OneByOne } from './one-by-one.ts';
import { RemoteVersions } from './remote-versions.ts';
import { ServedForm } from './served-form.ts';
import type { WriteHooks } from './write-hooks.ts';

export interface StoreDependencies {
  readonly declaration: ResourceDeclaration;
  /** The declaration whose form is stored; the same one for almost every kind. */
  readonly storageDeclaration: ResourceDeclaration;
  readonly cache: ResourceCache;
  readonly clock: Clock;
  readonly random: Random;
  readonly admission: AdmissionChain;
  readonly hooks: WriteHooks | undefined;
  readonly fields: FieldTracker | undefined;
  /** Where large objects wait between the steps of a write. */
  readonly turns: Turns;
  readonly kept: KeptConversions;
  readonly plans: PlanSource;
}

export interface WriteOptions {
  /** undefined: a write of the server itself, without admission. */
  readonly context: RequestContext | undefined;
  /** For whose request the server writes by itself: nothing is, when that has come too late. */
  readonly asker?: Pick<RequestContext, 'checkTime'>;
  /** A write of the server itself goes in turns, too: the object is large. */
  readonly heavy?: boolean;
  readonly dryRun: boolean;
  readonly subresource: string;
  /** Manager name for managedFields; '' tracks nothing. */
  readonly fieldManager: string;
}

/** A subresource whose object is not its parent. */
export interface SubresourceView {
  /** Throws when there is nothing to show of the parent. */
  check?(parent: JsonObject): void;
  readonly get: (parent: JsonObject) => JsonObject;
  readonly apply: (parent: JsonObject, view: JsonObject) => JsonObject;
  /** Where a version of the parent has what the view calls spec.replicas. */
  readonly replicasPath: (parent: JsonObject, apiVersion: string) => ReturnType<ReplicasPath>;
  /** For answers as a table. */
  readonly table?: TableForm;
}

export interface UpdateOptions extends WriteOptions {
  /**
   * PUT may create what is missing, when the strategy allows it. Says whether the user may create, too: throws the
   * refusal. A write that brings no such check creates nothing.
   */
  readonly authorizeCreate: (() => Promise<void>) | undefined;
  /** Server-side apply creates whatever the strategy says. */
  readonly createAlways?: boolean;
  /** The change leaves what it is given as it is, and may answer with parts of it: it needs no copy. */
  readonly leavesCurrent?: boolean;
  /** The request writes this of the object, and admission sees nothing else of it. */
  readonly view?: SubresourceView;
  /** The change does not look at what is there, so it is given nothing. */
  readonly replaces?: boolean;
}

/** An object as it was stored (or would have been, in a dry run), in the served version. */
export interface Stored {
  readonly value: Buffer;
  readonly revision: number;
}

type Outcome = Written | KeyExists | RevisionConflict;

export class StoredResource {
  readonly deps: StoreDependencies;
  /** Changes of large objects. */
  readonly changes: OneByOne;
  readonly #form: ServedForm;
  /**
   * What is not newer was perhaps written by an older server, which kept zeros. What an older one beside this writes later
   * keeps them: their objects are the same, and a write of them counts as a change.
   */
  readonly #firstRevision: number;
  /** Of a kind whose versions only a webhook can tell. */
  readonly remote: RemoteVersions | undefined;
  constructor(deps: StoreDependencies) {
    this.deps = deps;
    this.changes = new OneByOne(deps.clock);
    const { remoteConversion: conversion } = deps.declaration;
    this.#form = new ServedForm(deps.declaration);
    this.#firstRevision = deps.cache.currentRevision();
    this.remote = conversion && new RemoteVersions({ ...deps, conversion, form: this.#form });
  }
  get declaration(): ResourceDeclaration {
    return this.deps.declaration;
  }
  get cache(): ResourceCache {
    return this.deps.cache;
  }
  /** Throws 404, or 500 when it is there and can't be read. The value is in the stored version. */
  cached(namespace: string, name: string): CachedObject {
    const found = this.deps.cache.get(namespace, name);
    if (!found) throw this.missing(namespace, name);
    return found;
  }
  /** False: it was written, or deleted, since; perhaps by another server. */
  async isNewest(namespace: string, name: string, { revision }: CachedObject): Promise<boolean> {
    const { cache } = this.deps;
    await cache.fresh();
    return cache.get(namespace, name)?.revision === revision;
  }
  /** A write of the cache: what a change of the kind's definition overtakes is to be read as older than that. */
  written<T extends Outcome>(
    { context, asker = context }: Pick<WriteOptions, 'asker' | 'context'>,
    write: () => Promise<T>,
  ): Promise<T> {
    asker?.checkTime();
    const ended = this.declaration.beginWrite?.();
    const audit = context?.audit;
    const timed = audit === undefined ? write : () => this.#timed(write, audit);
    return ended === undefined ? timed() : this.#told(timed, ended);
  }
  async #timed<T>(write: () => Promise<T>, audit: AuditedRequest): Promise<T> {
    const { clock } = this.deps;
    const began = clock.monotonic();
    try {
      return await write();
    } finally {
      audit.took('etcd', clock.monotonic() - began);
    }
  }
  async #told<T extends Outcome>(write: () => Promise<T>, ended: (revision: number) => void): Promise<T> {
    let revision: number | undefined;
    try {
      const outcome = await write();
      if (outcome.ok) revision = outcome.entry.revision;
      return outcome;
    } finally {
      // Of what failed nobody may know whether it is stored.
      ended(revision ?? this.cache.currentRevision());
    }
  }
  /** Why the cache does not have it. */
  missing(namespace: string, name: string): StatusError {
    const unreadable = this.deps.cache.unreadable(namespace, name);
    return unreadable ? corruptObject(unreadable) : notFound(this.deps.declaration, name);
  }
  /** The parsed object in the served version; undefined when it is not there. */
  find(namespace: string, name: string): JsonObject | undefined {
    const found = this.deps.cache.get(namespace, name);
    return found ? this.served(found.value) : undefined;
  }
  /** Parses stored bytes and turns them into the served version, if nobody else has to be asked for it. */
  served(value: Buffer): JsonObject {
    const { plans, storageDeclaration } = this.deps;
    const object = decodeEntry(value);
    if (this.#mayHaveZeros(value)) dropZeros(plans, storageDeclaration.type, object);
    atOnce(dropNils(plans, storageDeclaration.type, object));
    return this.#converted(object);
  }
  /** The same in steps, for large objects. */
  *servedSteps(value: Buffer): Steps<JsonObject> {
    const { plans, storageDeclaration } = this.deps;
    const object = yield* decodeEntrySteps(value);
    if (this.#mayHaveZeros(value)) yield* dropZerosSteps(plans, storageDeclaration.type, object);
    yield* dropNils(plans, storageDeclaration.type, object);
    return this.#converted(object);
  }
  #mayHaveZeros(value: Buffer): boolean {
    return revisionIn(value) <= this.#firstRevision;
  }
  #converted(object: JsonObject): JsonObject {
    const conversion = this.deps.declaration.conversion;
    return conversion ? conversion.fromStorage(object) : object;
  }
  /** Bytes in the served version; the very same ones for almost every kind. */
  servedBytes(value: Buffer): Buffer | Promise<Buffer> {
    if (this.remote === undefined) return this.ownBytes(value);
    return this.#form.isOf(value) ? value : this.remote.bytes(value);
  }
  /** The same, if nobody else has to be asked for them. */
  ownBytes(value: Buffer): Buffer {
    const { declaration, kept } = this.deps;
    if (declaration.conversion === undefined || this.#form.isOf(value)) return value;
    const known = declaration.custom === true ? kept.get(value, declaration) : undefined;
    if (known !== undefined) return known;
    const made = Buffer.from(JSON.stringify(this.served(value)));
    if (declaration.custom === true) kept.put(value, declaration, made);
    return made;
  }
  /** Whether some of them have to be made anew to be served, by nobody else. */
  convertsSome(values: readonly Buffer[]): boolean {
    if (this.deps.declaration.conversion === undefined) return false;
    return values.some((value) => !this.#form.isOf(value));
  }
}

/** One for each way to read fields: a cache that is given another makes its records anew. */
const indexes = new WeakMap<ResourceDeclaration['selectableFields'], (object: unknown) => IndexRecord>();

export function openCache(source: CacheSource, declaration: ResourceDeclaration): ResourceCache {
  const { selectableFields, storage } = declaration;
  const indexOf =
    indexes.get(selectableFields) ?? ((object) => indexRecord(declaration, object as JsonObject));
  indexes.set(selectableFields, indexOf);
  return source.cache({ group: storage.group, resource: storage.resource }, indexOf);
}
