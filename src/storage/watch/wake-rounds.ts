// Wakes watchers in slices: a thousand of them must not hold up the request that comes next.

export interface Wakeable {
  wake(): void;
}

/**
 * How many are woken before others get their turn. Those that wait meanwhile find more events at once,
 * and writing two events costs a watcher hardly more than writing one.
 */
const sliceSize = 50;

/** Rounds over all watchers of one resource: a wake-up during a round asks for one more round after it. */
export class WakeRounds<T extends Wakeable> {
  readonly #all: ReadonlySet<T>;
  readonly #later: (run: () => void) => void;
  /** Those of this round that still sleep, from `#at` on. */
  #round: readonly T[] = [];
  #at = 0;
  #again = false;

  constructor(all: ReadonlySet<T>, later: (run: () => void) => void) {
    this.#all = all;
    this.#later = later;
  }

  /** The first slice is woken at once: where there are few watchers, nobody waits. */
  wake(): void {
    if (this.#at < this.#round.length) {
      this.#again = true;
      return;
    }
    this.#round = [...this.#all];
    this.#at = 0;
    this.#slice();
  }

  readonly #slice = (): void => {
    const end = Math.min(this.#at + sliceSize, this.#round.length);
    while (this.#at < end) this.#round[this.#at++]!.wake();
    if (end < this.#round.length) {
      this.#later(this.#slice);
      return;
    }
    this.#round = [];
    this.#at = 0;
    if (!this.#again) return;
    this.#again = false;
    this.#later(() => this.wake());
  };
}
