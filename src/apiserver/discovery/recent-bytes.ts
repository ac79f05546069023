// Documents that were asked for lately, up to a total size.

export class RecentBytes {
  readonly #budget: number;
  /** Least recently used first. */
  readonly #kept = new Map<string, Buffer>();
  #size = 0;

  constructor(budget: number) {
    this.#budget = budget;
  }

  get(key: string): Buffer | undefined {
    const found = this.#kept.get(key);
    if (found === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, found);
    return found;
  }

  put(key: string, bytes: Buffer): void {
    this.#drop(key);
    this.#kept.set(key, bytes);
    this.#size += bytes.length;
    for (const [oldest] of this.#kept) {
      if (this.#size <= this.#budget || oldest === key) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#size -= this.#kept.get(key)?.length ?? 0;
    this.#kept.delete(key);
  }
}
