// The port between the generic registry and the store: one resource's objects as encoded bytes with an index record.
// The cache holds every object of the resource; reads are synchronous and never parse.
import type { Draft, Entry, KeyExists, Revision, RevisionConflict, Written } from '../storage.ts';

/** What selectors and lists need to know of an object without parsing it. */
export interface IndexRecord {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Values of selectable fields, metadata.name and metadata.namespace included. */
  readonly fields: Readonly<Record<string, string>>;
}

export interface CachedObject extends Entry {
  readonly index: IndexRecord;
}

export type Predicate = (index: IndexRecord) => boolean;

export interface CacheListOptions {
  /** '' for all namespaces, or cluster scope. */
  readonly namespace: string;
  /** The one object that `matches` lets through, in `namespace`: found without a look at the others. */
  readonly name?: string | undefined;
  readonly matches?: Predicate | undefined;
  /** Narrows by an exact selectable field value through an inverted index, when the cache keeps one (spec.nodeName). */
  readonly exactField?: { readonly name: string; readonly value: string } | undefined;
  readonly limit: number;
  /** Start after this key, as of this revision: a decoded continue token. */
  readonly after?: { readonly key: string; readonly revision: Revision } | undefined;
  /** Exact revision that is asked for (resourceVersionMatch=Exact). Throws CompactedError when it is not kept. */
  readonly exactRevision?: Revision | undefined;
}

export interface CacheList {
  readonly items: readonly CachedObject[];
  readonly revision: Revision;
  /** Present when there is more. */
  readonly next?:
    | { readonly key: string; readonly revision: Revision; readonly remaining: number | undefined }
    | undefined;
}

/** One change, as a watcher that sees everything would get it. Frames are encoded once for each media type. */
export interface CacheEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: CachedObject;
  readonly previous: CachedObject | undefined;
  readonly revision: Revision;
  /** Memo of encoded watch frames, keyed by event type and media type; filled by the endpoints. */
  readonly frames: Map<string, Buffer>;
  forgetFrames(): void;
  /** The object as it was written, once, for whoever asks first: it is theirs. undefined: only its bytes are known. */
  takeObject(): object | undefined;
}

/** A place in the event ring. Pulled, never pushed to, so a slow watcher costs nothing. */
export interface WatchCursor {
  /** The next event that the watcher may see, at most one; undefined when there is none now. Throws CompactedError when the ring has run past. */
  next(): CacheEvent | undefined;
  /** Revision up to which everything was seen: the resourceVersion of a bookmark. */
  revision(): Revision;
  /** Calls back once when `next` may have something. */
  onEvent(callback: () => void): void;
  close(): void;
}

export interface UnreadableObject {
  readonly key: string;
  /** Of its last write. */
  readonly revision: Revision;
  /** Why it can't be opened, when that is it: a list that should show it fails. Otherwise it is no JSON. */
  readonly fault?: string | undefined;
}

export interface ResourceCache {
  get(namespace: string, name: string): CachedObject | undefined;
  /** Throws CompactedError, and StatusError 500 where an object that it should show can't be opened. */
  list(options: CacheListOptions): CacheList;
  count(): number;
  currentRevision(): Revision;
  /** Resolves when the cache has seen `revision`; rejects with StatusError 504 after 3 s, as upstream. */
  waitFor(revision: Revision, told?: string): Promise<void>;
  /** When it shows all that was written before the call, by whichever server; undefined: it does. Rejects as waitFor. */
  fresh(): Promise<void> | undefined;
  /** Events after `from`; throws CompactedError. Namespace '' for all. `takesObjects`: it takes them as soon as it can. */
  watch(from: Revision, namespace: string, how?: { readonly takesObjects: boolean }): WatchCursor;

  /** `object` is the parsed form of the draft, not to be changed any more; the index record is made from it. */
  create(namespace: string, name: string, draft: Draft, object: unknown): Promise<Written | KeyExists>;
  update(
    namespace: string,
    name: string,
    draft: Draft,
    object: unknown,
    expected: Revision,
  ): Promise<Written | RevisionConflict>;
  delete(
    namespace: string,
    name: string,
    last: Draft,
    object: unknown,
    expected: Revision,
  ): Promise<Written | RevisionConflict>;

  /** It is to be written again, though nothing in it changes: the store keeps it in a form that it writes no more. */
  isStale(namespace: string, name: string): boolean;
  /** Of an object that is no JSON or can't be opened: it is neither served nor watched. */
  unreadable(namespace: string, name: string): UnreadableObject | undefined;
  /** Nobody is told of it; watches of before a restart must list anew. */
  deleteUnreadable(namespace: string, name: string): Promise<void>;
}

/** All caches over one store, made on first use; the last `indexOf` of a resource counts. */
export interface CacheSource {
  cache(
    resource: { readonly group: string; readonly resource: string },
    indexOf: (object: unknown) => IndexRecord,
  ): ResourceCache;
}
