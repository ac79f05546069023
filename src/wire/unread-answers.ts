// Answers whose last byte has been written: who does not take it is cut.
import type { Writable } from 'node:stream';

/** A client that takes nothing for so long is gone, whatever its connection says. As upstream's request timeout. */
export const stallMs = 60_000;
const looksUntilCut = 2;

/** Looked at all together: a timer for each would cost more than the rest of writing a small answer. */
class UnreadAnswers {
  /** How often each was looked at. */
  readonly #looks = new Map<Writable, number>();
  #timer: NodeJS.Timeout | undefined;

  add(out: Writable): void {
    if (out.destroyed) return;
    this.#looks.set(out, 0);
    out.once('close', this.#taken);
    this.#timer ??= setInterval(() => this.#look(), stallMs / looksUntilCut).unref();
  }

  readonly #taken: (this: Writable) => void = ((looks) =>
    function (this: Writable) {
      looks.delete(this);
    })(this.#looks);

  #look(): void {
    if (this.#looks.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    for (const [out, looks] of this.#looks) {
      if (looks >= looksUntilCut) out.destroy();
      else this.#looks.set(out, looks + 1);
    }
  }
}

/** Of this process. */
export const unreadAnswers: Pick<UnreadAnswers, 'add'> = new UnreadAnswers();
