// One resource's objects in memory, in key order, with the events that let a list look back.
import { untransformableObject } from '../../apimachinery/errors.ts';
import type { Clock } from '../../base/clock.ts';
import { SortedMap } from '../../base/sorted-map.ts';
import { isStampOf } from '../stamp.ts';
import type {
  Draft,
  Entry,
  Key,
  KeyExists,
  Revision,
  RevisionConflict,
  Storage,
  StorageEvent,
  Written,
} from '../storage.ts';
import type { IndexOf } from './cached-object.ts';
import { LazyCachedObject } from './cached-object.ts';
import { EventRing, RingEvent } from './event-ring.ts';
import type { HistoryBudget } from './history-budget.ts';
import type {
  CachedObject,
  CacheEvent,
  CacheList,
  CacheListOptions,
  IndexRecord,
  ResourceCache,
  UnreadableObject,
  WatchCursor,
} from './resource-cache.ts';
import type { SharedLeases } from './shared-leases.ts';
import { storeStatus } from './store-status.ts';
import { WakeRounds } from './wake-rounds.ts';
import { RingCursor } from './watch-cursor.ts';

/** What all caches of one store share. */
export interface CacheContext {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly history: HistoryBudget;
  /** Objects that are no JSON or can't be opened, and in no cache. */
  readonly unreadable: ReadonlyMap<Key, UnreadableObject>;
  /** Revision up to which the events of the store have been applied. */
  seen(): Revision;
  waitFor(revision: Revision, told?: string): Promise<void>;
  fresh(): Promise<void> | undefined;
  readonly leases: SharedLeases;
}

type Outcome = Written | KeyExists | RevisionConflict;

interface PendingWrite {
  readonly draft: Draft;
  readonly index: IndexRecord;
  /** What made it: it may be another by the time that the store tells of the write. */
  readonly madeBy: IndexOf;
  readonly object: object;
}

const endOfPrefix = (prefix: Key): Key => `${prefix.slice(0, -1)}0`; // '0' follows '/'

export class MemoryResourceCache implements ResourceCache {
  readonly #context: CacheContext;
  readonly #prefix: Key;
  readonly #ttlMs: number | undefined;
  readonly #objects = new SortedMap<CachedObject>();
  /** The same objects by key: a get costs one hash. */
  readonly #byKey = new Map<Key, CachedObject>();
  readonly #inverted = new Map<string, Map<string, Map<Key, CachedObject>>>();
  readonly #ring: EventRing;
  readonly #cursors = new Set<RingCursor>();
  /** Watchers that take what was written as it was. */
  #takers = 0;
  readonly #rounds = new WakeRounds(this.#cursors, setImmediate);
  readonly #pending = new Map<Key, PendingWrite[]>();
  #indexOf: IndexOf | undefined;
  readonly #indexer = (): IndexOf => {
    if (this.#indexOf === undefined) throw new Error(`no index of ${this.#prefix}`);
    return this.#indexOf;
  };

  /** `ttlMs`: how long an object lives after its last write; undefined: until it is deleted. */
  constructor(context: CacheContext, prefix: Key, floor: Revision, ttlMs?: number) {
    this.#context = context;
    this.#ttlMs = ttlMs;
    this.#prefix = prefix;
    this.#ring = new EventRing(context.clock, floor, context.history);
  }

  useIndex(indexOf: IndexOf): void {
    if (this.#indexOf === indexOf) return;
    this.#indexOf = indexOf;
    this.#inverted.clear();
  }

  // -- what the source feeds --

  load(entry: Entry): void {
    this.#place(new LazyCachedObject(entry, this.#indexer));
  }

  /** An event of before the start: it can be watched and undone, but the state has it already. */
  remember(event: StorageEvent, previous: Entry | undefined): void {
    const before = previous && new LazyCachedObject(previous, this.#indexer);
    this.#ring.push(new RingEvent(changeOf(event), new LazyCachedObject(event, this.#indexer), before));
  }

  apply(event: StorageEvent): void {
    const previous = this.#byKey.get(event.key);
    const written = this.#writtenBy(event);
    const index = written?.madeBy === this.#indexOf ? written?.index : undefined;
    const object = new LazyCachedObject(event, this.#indexer, index);
    if (event.type === 'delete') this.#remove(event.key);
    else this.#place(object);
    const taken = this.#takers > 0 ? written?.object : undefined;
    this.#ring.push(new RingEvent(changeOf(event), object, previous, taken));
  }

  /** The very same state of an object is in it. */
  has({ key, revision }: Entry): boolean {
    return this.#byKey.get(key)?.revision === revision;
  }

  /** What happened between is not known: who looks back, or watches, must list anew. */
  replace(entries: readonly Entry[], revision: Revision): void {
    const keys = new Set<Key>();
    for (const entry of entries) {
      keys.add(entry.key);
      if (!this.has(entry)) this.load(entry);
    }
    for (const key of [...this.#byKey.keys()]) if (!keys.has(key)) this.#remove(key);
    this.#ring.forgetAll(revision);
  }

  /** Nobody can read what is stored now. What watchers and lists of the past would need is not known any more. */
  lose(key: Key, revision: Revision): void {
    this.#remove(key);
    this.forgetHistory(revision);
  }

  /** It can be read, after nobody could. */
  regain(entry: Entry, revision: Revision): void {
    this.load(entry);
    this.forgetHistory(revision);
  }

  forgetHistory(revision: Revision): void {
    this.#ring.forgetAll(revision);
  }

  wake(): void {
    this.#rounds.wake();
  }

  #place(object: CachedObject): void {
    const old = this.#byKey.get(object.key);
    this.#byKey.set(object.key, object);
    this.#objects.set(object.key, object);
    for (const [field, byValue] of this.#inverted) {
      if (old !== undefined) removeFrom(byValue, field, old);
      addTo(byValue, field, object);
    }
  }

  #remove(key: Key): void {
    const old = this.#byKey.get(key);
    if (old === undefined) return;
    this.#byKey.delete(key);
    this.#objects.delete(key);
    for (const [field, byValue] of this.#inverted) removeFrom(byValue, field, old);
  }

  // -- reads --

  keyOf(namespace: string, name: string): Key {
    return namespace === '' ? `${this.#prefix}${name}` : `${this.#prefix}${namespace}/${name}`;
  }

  get(namespace: string, name: string): CachedObject | undefined {
    return this.#byKey.get(this.keyOf(namespace, name));
  }

  count(): number {
    return this.#byKey.size;
  }

  currentRevision(): Revision {
    return this.#context.seen();
  }

  waitFor(revision: Revision, told?: string): Promise<void> {
    return this.#context.waitFor(revision, told);
  }

  fresh(): Promise<void> | undefined {
    return this.#context.fresh();
  }

  list(options: CacheListOptions): CacheList {
    const now = this.currentRevision();
    const revision = options.after?.revision ?? options.exactRevision ?? now;
    const prefix = options.namespace === '' ? this.#prefix : `${this.#prefix}${options.namespace}/`;
    const after = options.after === undefined ? prefix : `${options.after.key}\0`;
    // A token of another namespace must not reach outside this one.
    const start = after.startsWith(prefix) || after > prefix ? after : prefix;
    const collected = new Page(options);
    if (revision < now) this.#walkPast(revision, start, endOfPrefix(prefix), collected);
    else if (options.name !== undefined) {
      const object = this.get(options.namespace, options.name);
      if (object !== undefined && object.key >= start) collected.add(object);
    } else if (options.exactField !== undefined)
      this.#walkInverted(options.exactField, start, prefix, collected);
    else {
      const end = endOfPrefix(prefix);
      this.#objects.walk(start, (key, object) => key < end && collected.add(object));
    }
    const result = collected.result(revision);
    if (this.#context.unreadable.size > 0) this.#refuseSealed(options, prefix, start, result);
    return result;
  }

  /** A list without what nobody can open would tell that it is gone. */
  #refuseSealed({ namespace, name }: CacheListOptions, prefix: Key, start: Key, { next }: CacheList): void {
    const only = name === undefined ? undefined : this.keyOf(namespace, name);
    for (const { key, fault } of this.#context.unreadable.values()) {
      if (fault === undefined || !key.startsWith(prefix) || key < start) continue;
      if (only === undefined ? next === undefined || key < next.key : key === only)
        throw untransformableObject({ key, fault });
    }
  }

  #walkInverted(
    field: { readonly name: string; readonly value: string },
    start: Key,
    prefix: Key,
    page: Page,
  ): void {
    let byValue = this.#inverted.get(field.name);
    if (byValue === undefined) {
      byValue = new Map();
      for (const object of this.#byKey.values()) addTo(byValue, field.name, object);
      this.#inverted.set(field.name, byValue);
    }
    const found = [...(byValue.get(field.value)?.values() ?? [])]
      .filter((object) => object.key >= start && object.key.startsWith(prefix))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
    for (const object of found) if (!page.add(object)) return;
  }

  /** The state of an earlier revision: today's with the ring's events undone. */
  #walkPast(revision: Revision, start: Key, end: Key, page: Page): void {
    const from = this.#ring.after(revision);
    const undone = new Map<Key, CachedObject | undefined>();
    for (let sequence = this.#ring.next - 1; sequence >= from; sequence--) {
      const { object, previous } = this.#ring.at(sequence);
      if (object.key >= start && object.key < end) undone.set(object.key, previous);
    }
    const extra = [...undone.entries()]
      .filter((e): e is [Key, CachedObject] => e[1] !== undefined)
      .sort((a, b) => (a[0] < b[0] ? -1 : 1))
      .map((e) => e[1]);
    let next = 0;
    let more = true;
    this.#objects.walk(start, (key, object) => {
      if (key >= end) return false;
      while (more && next < extra.length && extra[next]!.key < key) more = page.add(extra[next++]!);
      if (more && !undone.has(key)) more = page.add(object);
      return more;
    });
    while (more && next < extra.length) more = page.add(extra[next++]!);
  }

  watch(
    from: Revision,
    namespace: string,
    { takesObjects }: { readonly takesObjects: boolean } = { takesObjects: false },
  ): WatchCursor {
    const prefix = namespace === '' ? this.#prefix : `${this.#prefix}${namespace}/`;
    const cursor = new RingCursor(
      this.#ring,
      from,
      prefix,
      () => this.currentRevision(),
      (c) => {
        if (this.#cursors.delete(c) && takesObjects) this.#takers--;
      },
    );
    this.#cursors.add(cursor);
    if (takesObjects) this.#takers++;
    return cursor;
  }

  // -- writes --

  create(namespace: string, name: string, draft: Draft, object: unknown): Promise<Written | KeyExists> {
    const key = this.keyOf(namespace, name);
    return this.#writing(key, draft, object, (put) => this.#context.storage.create(key, put));
  }

  update(
    namespace: string,
    name: string,
    draft: Draft,
    object: unknown,
    expected: Revision,
  ): Promise<Written | RevisionConflict> {
    const key = this.keyOf(namespace, name);
    return this.#writing(key, draft, object, (put) => this.#context.storage.update(key, put, expected));
  }

  delete(
    namespace: string,
    name: string,
    last: Draft,
    object: unknown,
    expected: Revision,
  ): Promise<Written | RevisionConflict> {
    const key = this.keyOf(namespace, name);
    return this.#writing(key, last, object, () => this.#context.storage.delete(key, last, expected));
  }

  isStale(namespace: string, name: string): boolean {
    return this.#context.storage.isStale?.(this.keyOf(namespace, name)) ?? false;
  }

  unreadable(namespace: string, name: string): UnreadableObject | undefined {
    return this.#context.unreadable.get(this.keyOf(namespace, name));
  }

  async deleteUnreadable(namespace: string, name: string): Promise<void> {
    const { storage } = this.#context;
    const entry = await storage.get(this.keyOf(namespace, name));
    if (entry === undefined) return;
    try {
      const last = { bytes: Buffer.from('{}'), revisionAt: -1 };
      const deleted = await storage.delete(entry.key, last, entry.revision);
      // History would hold what nobody can read.
      if (deleted.ok) await storage.compact(deleted.entry.revision);
    } catch (error) {
      throw storeStatus(error);
    }
  }

  async #writing<T extends Outcome>(
    key: Key,
    draft: Draft,
    object: unknown,
    write: (draft: Draft) => Promise<T>,
  ): Promise<T> {
    const madeBy = this.#indexer();
    const pending: PendingWrite = { draft, index: madeBy(object), madeBy, object: object as object };
    const list = this.#pending.get(key);
    if (list === undefined) this.#pending.set(key, [pending]);
    else list.push(pending);
    try {
      const outcome = await write(this.#ttlMs === undefined ? draft : await this.#leased(draft, this.#ttlMs));
      const shown = this.#shown(key, outcome);
      if (shown !== undefined) await shown;
      return outcome;
    } catch (error) {
      throw storeStatus(error);
    } finally {
      const left = this.#pending.get(key)?.filter((p) => p !== pending) ?? [];
      if (left.length === 0) this.#pending.delete(key);
      else this.#pending.set(key, left);
    }
  }

  async #leased(draft: Draft, ttlMs: number): Promise<Draft> {
    return { ...draft, lease: await this.#context.leases.get(ttlMs) };
  }

  /**
   * Whoever wrote reads what was written, and whoever was refused what stands against it, or else tries the same again.
   * Nothing to wait for where the store tells its watchers first. What is stored is stored, however late it is seen.
   */
  #shown(key: Key, outcome: Outcome): Promise<void> | undefined {
    const entry = outcome.ok ? outcome.entry : outcome.current;
    const isHere = entry === undefined ? !this.#byKey.has(key) : entry.revision <= this.#context.seen();
    if (isHere) return undefined;
    const shown = entry === undefined ? this.fresh() : this.waitFor(entry.revision);
    return shown?.catch(() => {});
  }

  /** An event whose bytes are those of a draft of ours is that write: no need to parse it. */
  #writtenBy(event: StorageEvent): PendingWrite | undefined {
    return this.#pending.get(event.key)?.find((p) => isStampOf(event.value, p.draft, event.revision));
  }
}

const changeOf = (event: StorageEvent): CacheEvent['type'] =>
  event.type === 'delete' ? 'DELETED' : event.created ? 'ADDED' : 'MODIFIED';

function addTo(byValue: Map<string, Map<Key, CachedObject>>, field: string, object: CachedObject): void {
  const value = object.index.fields[field] ?? '';
  const objects = byValue.get(value) ?? new Map<Key, CachedObject>();
  objects.set(object.key, object);
  byValue.set(value, objects);
}

function removeFrom(byValue: Map<string, Map<Key, CachedObject>>, field: string, object: CachedObject): void {
  const value = object.index.fields[field] ?? '';
  const objects = byValue.get(value);
  objects?.delete(object.key);
  if (objects?.size === 0) byValue.delete(value);
}

/** Collects a page of a list and knows when it is full. */
class Page {
  readonly #items: CachedObject[] = [];
  readonly #limit: number;
  readonly #matches: CacheListOptions['matches'];
  #exact: CacheListOptions['exactField'];
  #more = false;
  #remaining = 0;

  constructor(options: CacheListOptions) {
    this.#limit = options.limit;
    this.#matches = options.matches;
    this.#exact = options.exactField;
  }

  /** False when nothing more is wanted. */
  add(object: CachedObject): boolean {
    if (this.#exact !== undefined && (object.index.fields[this.#exact.name] ?? '') !== this.#exact.value)
      return true;
    if (this.#matches !== undefined && !this.#matches(object.index)) return true;
    if (this.#limit > 0 && this.#items.length === this.#limit) {
      this.#more = true;
      this.#remaining++;
      // Upstream tells how many remain only when no selector has to be tried on each.
      return this.#matches === undefined && this.#exact === undefined;
    }
    this.#items.push(object);
    return true;
  }

  result(revision: Revision): CacheList {
    if (!this.#more) return { items: this.#items, revision };
    const remaining = this.#matches === undefined && this.#exact === undefined ? this.#remaining : undefined;
    return { items: this.#items, revision, next: { key: this.#items.at(-1)!.key, revision, remaining } };
  }
}
