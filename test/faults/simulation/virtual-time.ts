// Time of a world in which nothing waits: what is due now is done, then the clock goes on to whatever is due next.
import { FakeClock } from '../../../src/base/testing/fake-clock.ts';

/** A program that never comes to rest at one moment would otherwise be waited for without end. */
const mostTurns = 200_000;

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const countOf = (kind: string): number =>
  process.getActiveResourcesInfo().filter((name) => name === kind).length;

/** What runs beside this thread, or on a clock of its own: nothing of a simulation may. */
const strange = (): string =>
  process
    .getActiveResourcesInfo()
    // Pipes and terminals are those of who started it.
    .filter((name) => name !== 'Immediate' && !name.endsWith('Wrap'))
    .sort()
    .join();

export class VirtualTime {
  readonly clock: FakeClock = new FakeClock();
  readonly #started = this.clock.monotonic();
  readonly #outside = strange();

  /** Seconds since it began. */
  get seconds(): number {
    return (this.clock.monotonic() - this.#started) / 1000;
  }

  /** All that is due at this moment is done: nothing is left for the event loop but its next round. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < mostTurns; turns++) {
      await turn();
      if (countOf('Immediate') === 0) return;
    }
    throw new Error(`no rest at ${this.seconds} s: something runs without end at one moment`);
  }

  /** Until `seconds`, moment by moment. `look` is called after each; true ends it. */
  async runUntil(seconds: number, look: () => boolean): Promise<void> {
    const until = this.#started + seconds * 1000;
    for (;;) {
      await this.settle();
      if (look()) return;
      const next = this.clock.nextAt;
      if (next === undefined || next > until) break;
      // Those of one moment go one after the other: what the first leads to is done before the second.
      this.clock.runNext();
    }
    this.clock.advance(Math.max(0, until - this.clock.monotonic()));
    await this.settle();
    look();
  }

  /** Throws when something waits for the machine: a thread, a file, a timer that is no port's. */
  assertAlone(): void {
    const now = strange();
    if (now !== this.#outside)
      throw new Error(`something goes past the ports: ${now}, at the start ${this.#outside}`);
  }
}
