// What the API server knows about a kind, as data: its schema, its verbs, its columns and its strategy.
import type { Ending } from '../base/ending.ts';
import type { Steps } from '../base/turns.ts';
import type { FieldError } from './field-error.ts';
import type { GroupVersionKind, Json, JsonObject, TypeSchema } from './json.ts';
import type { KeptByStatus } from './kept-metadata.ts';
import type { Describe } from './openapi/description-text.ts';
import type { PlanSource } from './plan.ts';

export type { FieldSchema, GroupVersionKind, Json, JsonObject, TypeSchema } from './json.ts';

/** Looks up types by full name; the root of every schema walk. */
export interface SchemaSource {
  type(fullName: string): TypeSchema | undefined;
}

export interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly priority: number;
  readonly description?: string;
}

/** What a strategy is told of the request. */
export interface StrategyContext {
  /** Now, RFC 3339 in seconds, as `metadata.creationTimestamp` holds it. */
  readonly now: string;
  readonly namespace: string;
  /** '' for the main resource, else `status`, `scale`, `resize` … */
  readonly subresource: string;
  /** Who asks; undefined when the server itself writes. */
  readonly user?: RequestingUser | undefined;
  /** A `Warning:` of what validation found and let pass. */
  warn?(text: string): void;
}

/**
 * Rules that clients wrote, asked after `validate` and told what that `found`. In steps: they may be dear, whatever the
 * object's size.
 */
export type WrittenRules<T = JsonObject> = (
  object: T,
  old: T | undefined,
  context: StrategyContext,
  found: readonly FieldError[],
) => Steps<readonly FieldError[]>;

export interface RequestingUser {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The rules of one kind (upstream: rest create/update/delete strategies). Everything is optional and pure. */
export interface Strategy<T = JsonObject> {
  /** Fields beyond the schema's static defaults. Idempotent; runs on every decode, as upstream's defaulting. */
  applyDefaults?(object: T): void;
  prepareForCreate?(object: T, context: StrategyContext): void;
  prepareForUpdate?(object: T, old: T, context: StrategyContext): void;
  /** Subresources besides `status` whose writes metadata.generation does not count. */
  readonly uncountedSubresources?: readonly string[];
  validate?(object: T): readonly FieldError[];
  validateUpdate?(object: T, old: T, context: StrategyContext): readonly FieldError[];
  /** Loaded when an object needs them; undefined when there are none to be asked. */
  rules?(object: T, old: T | undefined, context: StrategyContext): Promise<WrittenRules<T>> | undefined;
  /** Texts of `Warning:` headers. */
  warnings?(object: T, old: T | undefined): readonly string[];
  /** True when a create may bring its status (a node that registers). Default: it is reset. */
  readonly keepsStatusOnCreate?: boolean;
  /** Of its metadata, what a write of its status puts back, so that nobody owns it through that either. Default: nothing. */
  readonly keptByStatus?: KeptByStatus;
  /** True when a PUT to a missing name creates it (Lease, Endpoints, Event …). */
  readonly allowCreateOnUpdate?: boolean;
  /** False when an update must carry a resourceVersion. Default true. */
  readonly allowUnconditionalUpdate?: boolean;
  /** Pods: seconds of grace when DELETE names none; undefined means immediate deletion. */
  gracePeriodSeconds?(object: T, requested: number | bigint | undefined): number | bigint | undefined;
  /** True while the object must stay though its metadata has no finalizer: a namespace that is not finalized. */
  holdsDeletion?(object: T): boolean;
  /** What an object that waits for its deletion shows: a namespace is Terminating. */
  prepareForDelete?(object: T): void;
  /** False when a deletion that waits is told by its time alone: no new generation, no seconds of grace. Default true. */
  readonly countsDeletion?: boolean;
  /** Default of `propagationPolicy` when the request names none. Default 'background'. */
  readonly defaultGarbageCollection?: 'orphan' | 'background';
  /** True when DELETE answers with the object (pods, services, claims …) instead of a Status. */
  readonly returnDeletedObject?: boolean;
}

export interface SubresourceDeclaration {
  readonly name: string;
  readonly kind: GroupVersionKind;
  readonly verbs: readonly string[];
}

/** An object and its JSON, which need not be written anew to be sent. */
export interface Convertible {
  readonly object: JsonObject;
  readonly bytes: Uint8Array;
}

/** Versions between which only a webhook can tell. What is asked in one call is answered in the same order; throws StatusError. */
export interface RemoteConversion {
  toStorage(objects: readonly Convertible[]): Promise<readonly JsonObject[]>;
  /** Of objects in whatever version: as this one, complete. */
  toServed(objects: readonly Convertible[]): Promise<readonly JsonObject[]>;
}

/** How old what is stored of a custom kind may be. */
export interface SchemaAge {
  /**
   * What was stored until then may be another than its schema says now, and is served as that says. It grows while
   * writes end that the definition's last change overtook.
   */
  readonly revision: number;
}

/**
 * Of a custom kind of several versions: how admission sees its objects. As upstream, what comes out of a conversion is not
 * pruned, so that it can go back with what only the request's version knows.
 */
export interface ShownVersion {
  /** As this version, of whichever it is. */
  from(object: JsonObject): JsonObject | Promise<JsonObject>;
  /** In place, by this version's schema: without what it does not know, and with what it has defaults for. */
  prune(object: JsonObject): void;
  setDefaults(object: JsonObject): void;
}

/** A version of a custom kind as those see it that own fields in it. */
export interface OwnedVersion {
  readonly schema: SchemaSource;
  /** Full name of the object's type. */
  readonly type: string;
  readonly hasStatus: boolean;
  /** Of an object in whatever version: a copy in this one. Throws StatusError. */
  convert(object: JsonObject): JsonObject | Promise<JsonObject>;
}

/** Everything about one served resource of one version. */
export interface ResourceDeclaration {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly resource: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** Full type name, the key in the schema: `io.k8s.api.core.v1.Pod`. */
  readonly type: string;
  readonly columns: readonly ColumnDefinition[];
  readonly subresources: readonly SubresourceDeclaration[];
  readonly strategy: Strategy;
  /** True for kinds that a client defined: they have no strategic merge. */
  readonly custom?: boolean;
  /** Of a custom kind: names what its definition said when this was made, also after a restart. */
  readonly definedAs?: string;
  /** Of a custom kind: over when its definition says something else or is gone. Watches end with it. */
  readonly replaced?: Ending;
  /** What whoever asks for it is warned of: that its version is deprecated. */
  readonly deprecation?: string;
  /** True for reviews, bindings and the like: created for their answer and never stored. */
  readonly virtual: boolean;
  /** True when `status` is reset on create and only written by the status subresource. */
  readonly hasStatus: boolean;
  /** True when metadata.generation counts changes of spec. */
  readonly hasGeneration: boolean;
  /** True when its JSON is that of Go's encoder to the byte, which escapes what means something in HTML. */
  readonly writtenAsGo?: boolean;
  /** Where the bytes are kept when several versions share one store (events, HPA): the storage group/version. */
  readonly storage: { readonly group: string; readonly version: string; readonly resource: string };
  /** Of a custom kind that may have older objects than its definition. */
  readonly schemaSince?: SchemaAge;
  /** Of a custom kind: to be called as a write to the store begins, and the result with the revision as it has ended. */
  readonly beginWrite?: () => (revision: number) => void;
  /** Of a custom kind: why nothing new may come any more. It may become so while a request is under way. */
  readonly refusesCreate?: () => string | undefined;
  /** Present when the stored form may be another: turns objects into it, and back in place. Pure; may reuse parts. */
  readonly conversion?: {
    toStorage(object: JsonObject): JsonObject;
    fromStorage(object: JsonObject): JsonObject;
  };
  /** Instead, when somebody else has to be asked. */
  readonly remoteConversion?: RemoteConversion;
  readonly shown?: ShownVersion;
  /** Of a custom kind of several versions: each of them by its apiVersion, served or not. */
  ownedVersion?(apiVersion: string): OwnedVersion | undefined;
  /** Cells of one table row, in the order of `columns`; `now` in ms since the epoch. */
  row(object: JsonObject, now: number): Json[];
  /** Values that field selectors may name, beyond metadata.name and metadata.namespace, of an object as it is stored. */
  selectableFields(object: JsonObject): Readonly<Record<string, string>>;
  /** Names that field selectors may use, and how the stored kind calls them. Others are refused in upstream's words. */
  readonly selectableFieldNames: ReadonlyMap<string, string>;
}

/** All kinds of one server. CRDs are added and removed at run time. */
export interface Scheme extends SchemaSource {
  resources(): readonly ResourceDeclaration[];
  resource(group: string, version: string, resource: string): ResourceDeclaration | undefined;
  kind(gvk: GroupVersionKind): ResourceDeclaration | undefined;
  /** Full type name of any known kind, served or not (DeleteOptions, Scale, Status …). */
  typeOf(gvk: GroupVersionKind): string | undefined;
  /** The compiled type of any full name; what decoding and protobuf walk. */
  readonly plans: PlanSource;
  /** Definitions in OpenAPI documents that are given whole: custom resources. */
  definition?(type: string, dialect: 'v2' | 'v3'): JsonObject | undefined;
  /** What types and fields are for. Read when a document is made, and let go with it: nothing else asks. */
  descriptions?(): Promise<Describe>;
}
