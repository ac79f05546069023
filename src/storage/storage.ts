// The store's port: bytes under keys, revisions, watches. It knows no kinds.

/** `/registry/<group>/<resource>/<namespace>/<name>`; the core group is written `core`; cluster scope has no namespace part. */
export type Key = string;
/** Store-wide, strictly rising by one a write; served as resourceVersion. */
export type Revision = number;

/**
 * An encoded object with the place where its own revision is written.
 * The driver inserts the decimal revision of the write at `revisionAt` (an offset into `bytes`, inside
 * `"resourceVersion":""`), so what it keeps, returns and publishes is complete JSON.
 * `revisionAt` -1: stored as it is.
 */
export interface Draft {
  readonly bytes: Uint8Array;
  readonly revisionAt: number;
  /** Taken by a store that is full: what begins a deletion; in small pieces, what is told of an object that ends. */
  readonly urgency?: 'deletion' | 'ending' | undefined;
}

export interface Entry {
  readonly key: Key;
  /** Complete encoded JSON. Never to be modified. */
  readonly value: Buffer;
  /** Revision of the last write of this key. */
  readonly revision: Revision;
}

export type StorageEvent =
  | {
      readonly type: 'put';
      readonly key: Key;
      readonly value: Buffer;
      readonly revision: Revision;
      readonly created: boolean;
      readonly previous: Buffer | undefined;
    }
  /** `value` is the last state with the delete's revision stamped into it. */
  | {
      readonly type: 'delete';
      readonly key: Key;
      readonly value: Buffer;
      readonly revision: Revision;
      /** The state that was deleted, as it was stored. */
      readonly previous: Buffer | undefined;
    };

export type Written = { readonly ok: true; readonly entry: Entry };
export type KeyExists = { readonly ok: false; readonly reason: 'exists'; readonly current: Entry };
/** `current` is absent when the key is gone. */
export type RevisionConflict = {
  readonly ok: false;
  readonly reason: 'conflict';
  readonly current: Entry | undefined;
};

export interface ListResult {
  readonly entries: readonly Entry[];
  /** The store's revision that this list shows. */
  readonly revision: Revision;
}

/** Thrown by `watch` when `from` is older than the history that is kept. */
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
 * write, only after it is synced. Writes of one key are applied in the order of the calls.
 */
export interface Storage {
  get(key: Key): Promise<Entry | undefined>;
  /** All entries whose key starts with `prefix`, by key. */
  list(prefix: Key): Promise<ListResult>;
  create(key: Key, draft: Draft): Promise<Written | KeyExists>;
  update(key: Key, draft: Draft, expected: Revision): Promise<Written | RevisionConflict>;
  /** `last` is the object's last state (its draft), stamped with the delete's revision for watchers. */
  delete(key: Key, last: Draft, expected: Revision): Promise<Written | RevisionConflict>;
  /**
   * Events of keys under `prefix` with revision > `from`, in order, each once, in batches of one commit; calls
   * `onEvents` synchronously. Returns a function that ends it. Throws CompactedError.
   */
  watch(prefix: Key, from: Revision, onEvents: (events: readonly StorageEvent[]) => void): () => void;
  /** Forgets history up to and including `upTo`. */
  compact(upTo: Revision): Promise<void>;
  currentRevision(): Revision;
  /** What the objects take, and may take. Absent: nobody counts. */
  readonly space?: StorageSpace;
  /** Throws StorageError while writes fail. Absent: they can't. */
  check?(): Promise<void>;
  close(): Promise<void>;
}
