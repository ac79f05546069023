// That something is over, told once to all who asked; whoever asks no more is forgotten.
import type { Turns } from './turns.ts';

/** Told in one turn. */
const together = 64;

export class Ending {
  #isOver = false;
  readonly #waiting = new Set<() => void>();

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Calls back once, when it is over; not at all when it is already. Returns what takes that back. */
  onEnd(callback: () => void): () => void {
    if (!this.#isOver) this.#waiting.add(callback);
    return () => void this.#waiting.delete(callback);
  }

  /** It is over at once; where many wait they are told in `turns`. */
  end(turns: Pick<Turns, 'call'>): void {
    this.#isOver = true;
    let told = 0;
    for (const tell of this.#waiting) {
      if (told++ === together) {
        turns.call(() => this.end(turns));
        return;
      }
      this.#waiting.delete(tell);
      tell();
    }
  }
}
