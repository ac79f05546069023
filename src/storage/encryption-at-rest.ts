// A store whose values are sealed before any driver sees them: what it writes, keeps in memory and backs up is sealed, too.
import { draftAgain, stamp, withRevision } from './stamp.ts';
import type {
  Draft,
  Entry,
  Key,
  KeyExists,
  LeaseId,
  ListOptions,
  ListResult,
  OnEvents,
  Revision,
  RevisionConflict,
  Storage,
  StorageEvent,
  StorageSpace,
  StorageWatch,
  Written,
} from './storage.ts';

/** One key of one provider. */
export interface SealedForm {
  /** `k8s:enc:aesgcm:v1:key1:`, in bytes: names are not ASCII alone. Empty: the value as it is. */
  readonly prefix: Buffer;
  seal(value: Uint8Array, place: string): Uint8Array;
  /** Throws Error. */
  open(sealed: Uint8Array, place: string): Buffer;
}

/** The first writes; all read. */
export type FormsOf = (key: Key) => readonly SealedForm[];

const everyPrefix = Buffer.from('k8s:enc:');

export const isSealed = (value: Uint8Array): boolean =>
  value.length > everyPrefix.length && everyPrefix.equals(value.subarray(0, everyPrefix.length));

/** As it is; what begins as a sealed value does is none. */
export const identityForm: SealedForm = {
  prefix: Buffer.alloc(0),
  seal: (value) => value,
  open(value) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.length);
    if (isSealed(bytes)) throw new Error('identity transformer tried to read encrypted data');
    return bytes;
  },
};

/** Where upstream keeps the same object: a value of its etcd opens here. */
const placeOf = (key: Key): string => key.replace(/^\/registry\/core\//, '/registry/');

export class EncryptedStorage implements Storage {
  readonly space?: StorageSpace;
  readonly #inner: Storage;
  readonly #formsOf: FormsOf;
  /** Opened by another key than the first. */
  readonly #stale = new Set<Key>();
  readonly #onSealed: (key: Key, error: Error) => void;

  /** `onSealed`: no key opens this value. It is shown as it is stored, which is no object, and so left out. */
  constructor(inner: Storage, formsOf: FormsOf, onSealed: (key: Key, error: Error) => void) {
    this.#inner = inner;
    this.#formsOf = formsOf;
    this.#onSealed = onSealed;
    if (inner.space !== undefined) this.space = inner.space;
  }

  #sealed(key: Key, draft: Draft): Draft {
    const form = this.#formsOf(key)[0]!;
    if (form.prefix.length === 0) return draft;
    // The revision is known when it is written: it is put in when the value is read.
    const { bytes, revisionAt, gap = 0, ...rest } = draft;
    const plain =
      gap === 0 ? bytes : Buffer.concat([bytes.subarray(0, revisionAt), bytes.subarray(revisionAt + gap)]);
    const sealed = form.seal(plain, placeOf(key));
    return { ...rest, bytes: Buffer.concat([form.prefix, sealed]), revisionAt: -1 };
  }

  #opened<T extends { readonly key: Key; readonly value: Buffer; readonly revision: Revision }>(state: T): T {
    const { key, value, revision } = state;
    const errors: string[] = [];
    for (const [i, { prefix, open }] of this.#formsOf(key).entries()) {
      if (!value.subarray(0, prefix.length).equals(prefix)) continue;
      try {
        const plain = open(value.subarray(prefix.length), placeOf(key));
        if (i === 0) this.#stale.delete(key);
        else this.#stale.add(key);
        return prefix.length === 0 ? state : { ...state, value: stamp(draftAgain(plain), revision) };
      } catch (error) {
        if (prefix.length > 0) errors.push(error instanceof Error ? error.message : String(error));
      }
    }
    const why = errors.join(', ') || 'the provided value does not match any of the supported transformers';
    this.#onSealed(key, new Error(why));
    return state;
  }

  /** Its own draft needs no opening. */
  #written(draft: Draft, entry: Entry): Entry {
    return { ...entry, value: stamp({ ...draft, gap: 0, ...gapless(draft) }, entry.revision) };
  }

  #answer<Refused extends { readonly ok: false; readonly current: Entry | undefined }>(
    draft: Draft,
    answer: Written | Refused,
  ): Written | Refused {
    if (answer.ok) {
      this.#stale.delete(answer.entry.key);
      return { ok: true, entry: this.#written(draft, answer.entry) };
    }
    return answer.current === undefined ? answer : { ...answer, current: this.#opened(answer.current) };
  }

  async get(key: Key): Promise<Entry | undefined> {
    const entry = await this.#inner.get(key);
    return entry && this.#opened(entry);
  }

  async list(prefix: Key, options?: ListOptions): Promise<ListResult> {
    const result = await this.#inner.list(prefix, options);
    return { ...result, entries: result.entries.map((entry) => this.#opened(entry)) };
  }

  async create(key: Key, draft: Draft): Promise<Written | KeyExists> {
    return this.#answer<KeyExists>(draft, await this.#inner.create(key, this.#sealed(key, draft)));
  }

  async update(key: Key, draft: Draft, expected: Revision): Promise<Written | RevisionConflict> {
    return this.#answer<RevisionConflict>(
      draft,
      await this.#inner.update(key, this.#sealed(key, draft), expected),
    );
  }

  async delete(key: Key, last: Draft, expected: Revision): Promise<Written | RevisionConflict> {
    return this.#answer<RevisionConflict>(
      last,
      await this.#inner.delete(key, this.#sealed(key, last), expected),
    );
  }

  watch(prefix: Key, from: Revision, onEvents: OnEvents): StorageWatch {
    return this.#inner.watch(prefix, from, (events, revision) =>
      onEvents(
        events.map((event) => this.#openedEvent(event)),
        revision,
      ),
    );
  }

  #openedEvent(event: StorageEvent): StorageEvent {
    // Before the event itself, which says how the value lies there now.
    const previous = event.previous && this.#opened(event.previous);
    const opened = this.#opened<StorageEvent>(event);
    if (event.type === 'put') return { ...opened, previous };
    this.#stale.delete(event.key);
    return { ...opened, value: withRevision(opened.value, event.revision), previous };
  }

  isStale(key: Key): boolean {
    return this.#stale.has(key);
  }
  grant(ttlMs: number): Promise<LeaseId> {
    return this.#inner.grant(ttlMs);
  }
  timeToLive(lease: LeaseId): Promise<number | undefined> {
    return this.#inner.timeToLive(lease);
  }
  compact(upTo: Revision): Promise<void> {
    return this.#inner.compact(upTo);
  }
  revision(): Revision | Promise<Revision> {
    return this.#inner.revision();
  }
  async check(): Promise<void> {
    await this.#inner.check?.();
  }
  close(): Promise<void> {
    return this.#inner.close();
  }
}

/** A draft whose room for the revision is used by nobody. */
const gapless = ({ bytes, revisionAt, gap = 0 }: Draft): Pick<Draft, 'bytes'> =>
  gap === 0
    ? { bytes }
    : { bytes: Buffer.concat([bytes.subarray(0, revisionAt), bytes.subarray(revisionAt + gap)]) };
