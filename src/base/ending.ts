// That something is over, told once to all who asked; whoever asks no more is forgotten.
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

  end(): void {
    this.#isOver = true;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const tell of waiting) tell();
  }
}
