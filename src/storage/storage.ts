// The store's port: bytes under keys, revisions, watches. It knows no kinds.

/** `/registry/<group>/<resource>/<namespace>/<name>`; the core group is written `core`; cluster scope has no namespace part. */
export type Key = string;
/** Store-wide, strictly rising by one a write; served as resourceVersion. */
export type Revision = number;
export type LeaseId = number;

/**
 * An encoded object with the place where its own revision is written.
 * The driver inserts the decimal revision of the write at `revisionAt` (an offset into `bytes`, inside
 * `"resourceVersion":""`), so what it keeps, returns and publishes is complete JSON.
 * `revisionAt` -1: stored as it is.
 */
export interface Draft {
  readonly bytes: Uint8Array;
  readonly revisionAt: number;
  /**
   * So many zeros stand at `revisionAt` in `bytes`, a buffer that shares its memory with nobody: a revision of as many digits may
   * be written over them, and the bytes are kept as they are. Whoever hands it over does not change them from then on.
   */
  readonly gap?: number;
  /** Taken by a store that is full: what begins a deletion; in small pieces, what is told of an object that ends. */
  readonly urgency?: 'deletion' | 'ending' | undefined;
  /** With this lease the key is deleted, unless it was written again: a write that names none keeps it for good. */
  readonly lease?: LeaseId | undefined;
}

export interface Entry {
  readonly key: Key;
  /** Complete encoded JSON. Never to be modified. */
  readonly value: Buffer;
  /** Revision of the last write of this key. */
  readonly revision: Revision;
  /** Absent when the last write named none. */
  readonly lease?: LeaseId;
  /** Why nobody can read its value, which is empty here. */
  readonly fault?: string;
}

export type StorageEvent =
  | {
      readonly type: 'put';
      readonly key: Key;
      readonly value: Buffer;
      readonly revision: Revision;
      readonly created: boolean;
      /** The state before; undefined also where the store remembers it no more. */
      readonly previous: Entry | undefined;
      readonly fault?: string;
    }
  /** `value` is the last state with the delete's revision stamped into it. */
  | {
      readonly type: 'delete';
      readonly key: Key;
      readonly value: Buffer;
      readonly revision: Revision;
      /** The state that was deleted, as it was stored. */
      readonly previous: Entry | undefined;
      readonly fault?: string;
    };

export type Written = { readonly ok: true; readonly entry: Entry };
export type KeyExists = { readonly ok: false; readonly reason: 'exists'; readonly current: Entry };
/** `current` is absent when the key is gone. */
export type RevisionConflict = {
  readonly ok: false;
  readonly reason: 'conflict';
  readonly current: Entry | undefined;
};

export interface ListOptions {
  /** The state of this revision, which the store has had. Default: the newest. */
  readonly revision?: Revision;
  /** Begins behind this key. */
  readonly after?: Key;
  /** At most so many entries. Default: all. */
  readonly limit?: number;
}

export interface ListResult {
  readonly entries: readonly Entry[];
  /** The store's revision that this list shows. */
  readonly revision: Revision;
  /** There are entries behind the last one. */
  readonly more: boolean;
}

/** Why nothing more is told. */
export type WatchEnd =
  /** By whoever asked for it, or with the store. */
  | { readonly reason: 'closed' }
  /** What it would go on with is forgotten: only a list tells what there is. */
  | { readonly reason: 'compacted'; readonly compactedTo: Revision }
  /** It fell too far behind, and the store keeps no more for it. */
  | { readonly reason: 'lagging' }
  /** The way to the store, or the watcher itself, which threw. */
  | { readonly reason: 'failed'; readonly error: Error };

/** A watch of the store, which may end at any time. */
export interface StorageWatch {
  readonly ended: Promise<WatchEnd>;
  /** Nothing is told from now on. */
  close(): void;
}

/** `revision`: everything up to it has been told. Without events: nothing of it was under the prefix. */
export type OnEvents = (events: readonly StorageEvent[], revision: Revision) => void;

/** The history that would be needed is kept no more. */
export class CompactedError extends Error {
  readonly compactedTo: Revision;
  constructor(from: Revision, compactedTo: Revision) {
    super(`too old resource version: ${from} (${compactedTo})`);
    this.name = 'CompactedError';
    this.compactedTo = compactedTo;
  }
}

export interface SpaceLimits {
  readonly bytes: number;
  /** What a cluster can't live without: it may use a reserve that nobody else can. */
  readonly isSystem: (key: Key) => boolean;
  /** A write was refused; or there is room again for what was refused. */
  readonly onFull?: (full: boolean) => void;
}

export interface StorageSpace {
  /** Bytes of all objects, with what they take beside. */
  readonly used: number;
  /** Until then there is no limit: what a start must write is never refused. */
  limit(limits: SpaceLimits): void;
  /** Throws StorageError NoSpace while there is no room for what was refused. */
  check(): void;
}

/**
 * Durable before visible: a promise of create, update or delete resolves, and watchers and readers see the
 * write, only after it is synced. Writes of one key are applied in the order of the calls. A write that fails is not
 * stored, unless the error's code is `Unknown`.
 */
export interface Storage {
  get(key: Key): Promise<Entry | undefined>;
  /** Entries whose key starts with `prefix`, by key. Throws CompactedError. */
  list(prefix: Key, options?: ListOptions): Promise<ListResult>;
  create(key: Key, draft: Draft): Promise<Written | KeyExists>;
  update(key: Key, draft: Draft, expected: Revision): Promise<Written | RevisionConflict>;
  /**
   * `last` is the object's last state (its draft), stamped with the delete's revision for watchers. A driver whose
   * store can't carry it tells them the state before.
   */
  delete(key: Key, last: Draft, expected: Revision): Promise<Written | RevisionConflict>;
  /**
   * Events of keys under `prefix` with revision > `from`, in order, each once, never a part of one commit; before a
   * write's promise resolves or after it. Tells at least once, how far it is, when all that was there has been told.
   */
  watch(prefix: Key, from: Revision, onEvents: OnEvents): StorageWatch;
  /**
   * A lease of so many milliseconds of a clock that nobody sets; the time while the store is closed does not count. When
   * it is over, its keys are deleted, and watchers are told of their last states.
   */
  grant(ttlMs: number): Promise<LeaseId>;
  /** Milliseconds that are left; undefined when it is over. */
  timeToLive(lease: LeaseId): Promise<number | undefined>;
  /** Forgets history up to and including `upTo`. */
  compact(upTo: Revision): Promise<void>;
  /** Forgets all history, and writes over it: nothing of it is in its files any more. Absent: there are no files. */
  scrub?(): Promise<void>;
  /**
   * The newest revision, whoever wrote it: all writes that were acknowledged before the call are in it. At once where
   * nobody else can write.
   */
  revision(): Revision | Promise<Revision>;
  /** What the objects take, and may take. Absent: nobody counts. */
  readonly space?: StorageSpace;
  /** Its value lies in a form that is written no more: it is to be written again, though nothing in it changes. */
  isStale?(key: Key): boolean;
  /** Throws StorageError while writes fail. Absent: they can't. */
  check?(): Promise<void>;
  close(): Promise<void>;
}
