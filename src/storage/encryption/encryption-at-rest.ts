// A store whose values are sealed before any driver sees them: what it writes, keeps in memory and backs up is sealed, too.

import { draftAgain, stamp, withRevision } from '../stamp.ts';
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
} from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { OrderedDelivery } from './ordered-delivery.ts';
import { openByAny, type SealedForm } from './sealed-forms.ts';

/** The first writes; all read. What it says may change. */
export type FormsOf = (key: Key) => readonly SealedForm[];

export type Direction = 'from_storage' | 'to_storage';

export interface EncryptionObserver {
  /** No key opens this value: told once, until one does. */
  onSealed(key: Key, error: Error): void;
  /** A value could not be sealed, and is not written. */
  onUnsealed?(key: Key, error: Error): void;
  /** A value was sealed or opened, or could not be, by the form of this prefix; undefined: by none. */
  onTransformed?(
    key: Key,
    direction: Direction,
    prefix: Buffer | undefined,
    startedMs: number,
    error: unknown,
  ): void;
  /** A value lies otherwise now, or is gone: what it was before should be nowhere any more. */
  onMoved?(): void;
  /** Milliseconds. */
  now?(): number;
}

interface State {
  readonly key: Key;
  readonly value: Buffer;
  readonly revision: Revision;
  readonly fault?: string;
}

/** Where upstream keeps the same object: a value of its etcd opens here. */
const placeOf = (key: Key): string => key.replace(/^\/registry\/core\//, '/registry/');

const noMatch = 'no matching prefix found';
const nothing = Buffer.alloc(0);

export class EncryptedStorage implements Storage {
  readonly space?: StorageSpace;
  readonly #inner: Storage;
  readonly #formsOf: FormsOf;
  readonly #observer: EncryptionObserver;
  /** How values lie; those that are not named lie as they are. */
  readonly #lies = new Map<Key, string>();
  readonly #unread = new Set<Key>();

  constructor(inner: Storage, formsOf: FormsOf, observer: EncryptionObserver) {
    this.#inner = inner;
    this.#formsOf = formsOf;
    this.#observer = observer;
    if (inner.space !== undefined) this.space = inner.space;
  }

  /** The draft, and how it will lie. Throws StorageError. */
  #sealed(key: Key, draft: Draft): readonly [Draft, string] {
    const form = this.#formsOf(key)[0]!;
    if (form.prefix.length === 0) return [draft, ''];
    const started = this.#observer.now?.() ?? 0;
    // The revision is known when it is written: it is put in when the value is read.
    const { bytes: _, revisionAt: __, gap: ___, ...rest } = draft;
    try {
      const sealed = form.seal(gapless(draft), placeOf(key));
      this.#observer.onTransformed?.(key, 'to_storage', form.prefix, started, undefined);
      return [{ ...rest, bytes: Buffer.concat([form.prefix, sealed]), revisionAt: -1 }, form.lies()];
    } catch (error) {
      this.#observer.onTransformed?.(key, 'to_storage', form.prefix, started, error);
      throw new StorageError('Unsealed', error instanceof Error ? error.message : String(error), error);
    }
  }

  #toWrite(key: Key, draft: Draft): readonly [Draft, string] {
    try {
      return this.#sealed(key, draft);
    } catch (error) {
      this.#observer.onUnsealed?.(key, error as StorageError);
      throw error;
    }
  }

  #remember(key: Key, lies: string): void {
    if (lies === '') this.#lies.delete(key);
    else this.#lies.set(key, lies);
  }

  #forget(key: Key): void {
    this.#lies.delete(key);
    this.#unread.delete(key);
  }

  /** `isLatest`: it says how the value lies now; 'perhaps': unless something later was seen. */
  #opened<T extends State>(state: T, isLatest: boolean | 'perhaps'): T | Promise<T> {
    const { key, value, revision } = state;
    const isNow = isLatest === 'perhaps' ? !this.#lies.has(key) : isLatest;
    const observer = this.#observer;
    const started = observer.now?.() ?? 0;
    const unread = (error: unknown): T => {
      const why = error instanceof Error ? error : new Error(String(error));
      if (why.message === noMatch) observer.onTransformed?.(key, 'from_storage', undefined, started, error);
      if (isNow) this.#lies.delete(key);
      if (isNow && !this.#unread.has(key)) {
        this.#unread.add(key);
        observer.onSealed(key, why);
      }
      return { ...state, value: nothing, fault: why.message };
    };
    const read = ({ plain, lies }: { readonly plain: Buffer; readonly lies: string }): T => {
      if (isNow) {
        this.#remember(key, lies);
        this.#unread.delete(key);
      }
      return lies === '' ? state : { ...state, value: stamp(draftAgain(plain), revision) };
    };
    try {
      const forms = this.#formsOf(key);
      const opened = openByAny(forms, value, placeOf(key), noMatch, ({ prefix }, error) =>
        observer.onTransformed?.(key, 'from_storage', prefix, started, error),
      );
      return opened instanceof Promise ? opened.then(read, unread) : read(opened);
    } catch (error) {
      return unread(error);
    }
  }

  async #answer<Refused extends { readonly ok: false; readonly current: Entry | undefined }>(
    draft: Draft,
    lies: string,
    answer: Written | Refused,
    /** How it lay before; undefined: it was not there. The watch may tell of the write before its answer does. */
    lay: string | undefined,
  ): Promise<Written | Refused> {
    if (!answer.ok)
      return answer.current === undefined
        ? answer
        : { ...answer, current: await this.#opened(answer.current, true) };
    const { entry } = answer;
    if (lay !== undefined && lay !== lies) this.#observer.onMoved?.();
    this.#unread.delete(entry.key);
    this.#remember(entry.key, lies);
    if (lies === '') return answer;
    // Its own draft needs no opening.
    return {
      ok: true,
      entry: { ...entry, value: stamp({ ...draft, gap: 0, bytes: gapless(draft) }, entry.revision) },
    };
  }

  async get(key: Key): Promise<Entry | undefined> {
    const entry = await this.#inner.get(key);
    return entry && this.#opened(entry, true);
  }

  async list(prefix: Key, options?: ListOptions): Promise<ListResult> {
    const result = await this.#inner.list(prefix, options);
    const isLatest = options?.revision === undefined || 'perhaps';
    const entries = result.entries.map((entry) => this.#opened(entry, isLatest));
    return { ...result, entries: await Promise.all(entries) };
  }

  async create(key: Key, draft: Draft): Promise<Written | KeyExists> {
    const [sealed, lies] = this.#toWrite(key, draft);
    return this.#answer<KeyExists>(draft, lies, await this.#inner.create(key, sealed), undefined);
  }

  async update(key: Key, draft: Draft, expected: Revision): Promise<Written | RevisionConflict> {
    const [sealed, lies] = this.#toWrite(key, draft);
    const lay = this.#lies.get(key) ?? '';
    return this.#answer<RevisionConflict>(draft, lies, await this.#inner.update(key, sealed, expected), lay);
  }

  async delete(key: Key, last: Draft, expected: Revision): Promise<Written | RevisionConflict> {
    const [sealed, lies] = await this.#lastSealed(key, last);
    const lay = this.#lies.get(key) ?? '';
    const answer = await this.#inner.delete(key, sealed, expected);
    const told = await this.#answer<RevisionConflict>(last, lies, answer, lay);
    if (answer.ok) this.#forget(key);
    return told;
  }

  /** While nothing can be sealed, what is there can be deleted: watchers are told of the state before. */
  async #lastSealed(key: Key, last: Draft): Promise<readonly [Draft, string]> {
    try {
      return this.#sealed(key, last);
    } catch (error) {
      const stored = await this.#inner.get(key);
      if (stored === undefined) throw error;
      const { bytes: _, revisionAt: __, gap: ___, ...rest } = last;
      return [{ ...rest, bytes: stored.value, revisionAt: -1 }, 'as before'];
    }
  }

  watch(prefix: Key, from: Revision, onEvents: OnEvents): StorageWatch {
    return new OrderedDelivery(onEvents).watch((tell) =>
      this.#inner.watch(prefix, from, (events, revision) =>
        tell(
          events.map((event) => this.#openedEvent(event)),
          revision,
        ),
      ),
    );
  }

  #openedEvent(event: StorageEvent): StorageEvent | Promise<StorageEvent> {
    const previous = event.previous && this.#opened(event.previous, false);
    const opened = this.#opened<StorageEvent>(event, event.type === 'put');
    if (event.type === 'delete') this.#forget(event.key);
    const whole = (now: StorageEvent, before: Entry | undefined): StorageEvent =>
      now.type === 'put' || now.fault !== undefined
        ? { ...now, previous: before }
        : { ...now, value: withRevision(now.value, now.revision), previous: before };
    return opened instanceof Promise || previous instanceof Promise
      ? Promise.all([opened, previous]).then(([now, before]) => whole(now, before))
      : whole(opened, previous);
  }

  isStale(key: Key): boolean {
    return (this.#lies.get(key) ?? '') !== this.#formsOf(key)[0]!.lies();
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
  async scrub(): Promise<void> {
    await this.#inner.scrub?.();
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

/** A draft's bytes without the room for its revision. */
const gapless = ({ bytes, revisionAt, gap = 0 }: Draft): Uint8Array =>
  gap === 0 ? bytes : Buffer.concat([bytes.subarray(0, revisionAt), bytes.subarray(revisionAt + gap)]);
