// Work by key: of one key one after the other, in the order in which it came; of all keys a few at once.

export class Lanes {
  readonly #most: number;
  readonly #waiting = new Map<string, (() => Promise<void>)[]>();
  readonly #busy = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  /** `work` must not reject. */
  add(key: string, work: () => Promise<void>): void {
    const lane = this.#waiting.get(key);
    if (lane === undefined) this.#waiting.set(key, [work]);
    else lane.push(work);
    this.#next();
  }

  #next(): void {
    for (const [key, [first, ...rest]] of this.#waiting) {
      if (this.#busy.size >= this.#most) return;
      if (this.#busy.has(key)) continue;
      if (rest.length === 0) this.#waiting.delete(key);
      else this.#waiting.set(key, rest);
      this.#busy.add(key);
      void this.#run(key, first!);
    }
  }

  async #run(key: string, work: () => Promise<void>): Promise<void> {
    await work();
    this.#busy.delete(key);
    this.#next();
  }
}
