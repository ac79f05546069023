// Answers whose last byte has been written: who does not take it is cut.

/** A client that takes nothing for so long is gone, whatever its connection says. As upstream's request timeout. */
export const stallMs = 60_000;
const looksUntilCut = 2;

/** What an answer was written to. */
interface Written {
  destroy(): unknown;
}

/** Looked at all together: a timer for each would cost more than the rest of writing a small answer. */
class UnreadAnswers {
  /** How often each was looked at. */
  readonly #looks = new Map<Written, number>();
  #timer: NodeJS.Timeout | undefined;

  add(out: Written): void {
    this.#looks.set(out, 0);
    this.#timer ??= setInterval(() => this.#look(), stallMs / looksUntilCut).unref();
  }

  taken(out: Written): void {
    this.#looks.delete(out);
  }

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
export const unreadAnswers: Pick<UnreadAnswers, 'add' | 'taken'> = new UnreadAnswers();
