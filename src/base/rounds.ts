// When a request begins: in each round of the event loop so many as fit into some milliseconds, sources taking turns.
import { FairQueue } from './fair-queue.ts';

/** Most that begin in one round while others wait: who comes late finds sockets looked at in between. */
const beginningsAtOnce = 16;

/** What waits is bounded by what a connection or a user may have under way. */
const boundless = { each: Number.POSITIVE_INFINITY, all: Number.POSITIVE_INFINITY } as const;

/**
 * A request that is answered from memory is done before the next is looked at: it never has to wait for a seat, and a
 * hundred of them would be done in a row. So they begin while the round is young; after that they wait by whose they are:
 * by address and its connections until it is known who it is, then by user.
 */
export class Rounds<Source> {
  readonly #later: (run: () => void) => void;
  readonly #now: () => number;
  readonly #sliceMs: number;
  /** By group; each entry takes the next of its group. */
  readonly #waiting = new FairQueue<() => void>(boundless);
  readonly #groups = new Map<string, FairQueue<() => void, Source>>();
  /** Groups of which one has begun in this round, at once among others. */
  readonly #firsts = new Set<string>();
  #until = 0;
  #isOpen = false;
  #isServing = false;

  /**
   * `later` calls back after what is due now, in the same round for all who asked in one. Others wait for `sliceMs` and for
   * the one request that was begun last.
   */
  constructor(later: (run: () => void) => void, now: () => number, sliceMs = 5) {
    this.#later = later;
    this.#now = now;
    this.#sliceMs = sliceMs;
  }

  /**
   * undefined: at once. Groups take turns, and within one its sources: many of one group have no more than one of another.
   * `others`: it is known that others wait, so only the first of its group in a round begins at once, and the rest wait.
   */
  begin(source: Source, group = '', others = false): Promise<void> | undefined {
    if (others ? this.#isFirst(group) : this.#waiting.length === 0 && this.#isYoung()) return undefined;
    return new Promise((resolve) => {
      this.#put(group, source, resolve);
      this.#serveLater();
    });
  }

  #put(group: string, source: Source, run: () => void): void {
    const own = this.#groups.get(group) ?? new FairQueue<() => void, Source>(boundless);
    this.#groups.set(group, own);
    own.put(source, run);
    this.#waiting.put(group, () => {
      const next = own.take();
      if (own.length === 0) this.#groups.delete(group);
      next?.();
    });
  }

  #isFirst(group: string): boolean {
    if (this.#firsts.has(group) || this.#groups.has(group)) return false;
    if (this.#firsts.size === 0) this.#later(() => this.#firsts.clear());
    this.#firsts.add(group);
    return true;
  }

  #isYoung(): boolean {
    if (this.#isOpen) return this.#now() < this.#until;
    this.#isOpen = true;
    this.#until = this.#now() + this.#sliceMs;
    this.#later(() => {
      this.#isOpen = false;
    });
    return true;
  }

  #serveLater(): void {
    if (this.#isServing) return;
    this.#isServing = true;
    for (let i = 1; i <= beginningsAtOnce; i++) this.#later(() => this.#serve(i));
  }

  /** What begins runs until it waits for something before the next one is asked for. */
  #serve(i: number): void {
    if (i === 1) this.#until = this.#now() + this.#sliceMs;
    if (i === 1 || this.#now() < this.#until) this.#waiting.take()?.();
    if (i < beginningsAtOnce) return;
    this.#isServing = false;
    if (this.#waiting.length > 0) this.#serveLater();
  }
}
