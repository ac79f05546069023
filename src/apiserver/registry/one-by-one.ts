// Who changes the same thing, one after the other.
import type { Clock } from '../../base/clock.ts';

/** One of them may wait for a webhook, and that for a change of the same object: nobody waits longer. */
const patienceMs = 2_000;

type Aside = (wait: () => Promise<void>) => Promise<void>;

/**
 * Changes of one large object that are worked out side by side refuse each other by its revision, and all but one begin
 * again. Nothing depends on this order: whoever had no patience is checked by the revision as ever.
 */
export class OneByOne {
  readonly #clock: Pick<Clock, 'timer'>;
  readonly #last = new Map<string, Promise<void>>();

  constructor(clock: Pick<Clock, 'timer'>) {
    this.#clock = clock;
  }

  /** Answers how to leave, to be called once. `aside`: around the wait, if there is one. Throws what that throws. */
  async enter(key: string, aside: Aside = (wait) => wait()): Promise<() => void> {
    const before = this.#last.get(key);
    let end!: () => void;
    const mine = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#last.set(key, mine);
    const leave = (): void => {
      end();
      if (this.#last.get(key) === mine) this.#last.delete(key);
    };
    if (before === undefined) return leave;
    try {
      await aside(() => this.#endOf(before));
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  async #endOf(before: Promise<void>): Promise<void> {
    let cancel = (): void => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.#clock.timer(patienceMs, resolve);
    });
    await Promise.race([before, late]);
    cancel();
  }
}
