// Events of a watch in the order in which they came, though some of them are made ready later than others.
import type { OnEvents, Revision, StorageEvent, StorageWatch, WatchEnd } from '../storage.ts';

/** More than these wait for nobody: who watches begins anew where it was. */
const maxWaiting = 10_000;

type Coming = readonly (StorageEvent | Promise<StorageEvent>)[];

/** Tells at once what is ready, unless something before it is not. */
export class OrderedDelivery {
  readonly #onEvents: OnEvents;
  readonly #ended = Promise.withResolvers<WatchEnd>();
  #last: Promise<void> | undefined;
  #waiting = 0;
  #closed = false;
  #inner: StorageWatch | undefined;

  constructor(onEvents: OnEvents) {
    this.#onEvents = onEvents;
  }

  /** `begin` watches, and tells of what comes. */
  watch(begin: (tell: (coming: Coming, revision: Revision) => void) => StorageWatch): StorageWatch {
    const inner = begin((coming, revision) => this.#tell(coming, revision));
    this.#inner = inner;
    if (this.#closed) inner.close();
    // What came before the end is told before it.
    void inner.ended.then((end) => (this.#last ?? Promise.resolve()).then(() => this.#ended.resolve(end)));
    return {
      ended: this.#ended.promise,
      close: () => this.#end({ reason: 'closed' }),
    };
  }

  #end(why: WatchEnd): void {
    this.#closed = true;
    this.#inner?.close();
    this.#ended.resolve(why);
  }

  #tell(coming: Coming, revision: Revision): void {
    if (this.#closed) return;
    if (this.#last === undefined && !coming.some((event) => event instanceof Promise)) {
      this.#onEvents(coming as readonly StorageEvent[], revision);
      return;
    }
    this.#waiting += coming.length;
    if (this.#waiting > maxWaiting) {
      this.#end({ reason: 'lagging' });
      return;
    }
    const ready = Promise.all(coming);
    const turn: Promise<void> = Promise.all([ready, this.#last]).then(([events]) => {
      this.#waiting -= coming.length;
      if (this.#last === turn) this.#last = undefined;
      if (this.#closed) return;
      try {
        this.#onEvents(events, revision);
      } catch (error) {
        this.#end({ reason: 'failed', error: error instanceof Error ? error : new Error(String(error)) });
      }
    });
    this.#last = turn;
  }
}
