// What waits, by whose it is: each in its turn, so that one who brings much waits for itself alone. Bounded.

export interface FairQueueLimits {
  /** Of one source. */
  readonly each: number;
  /** Of all; a source that has nothing waiting may add one beyond it, while there are not twice as many. */
  readonly all: number;
}

export class FairQueue<T, Source = string> {
  readonly #limits: FairQueueLimits;
  /** First whose turn is next. */
  readonly #sources = new Map<Source, T[]>();
  #length = 0;

  constructor(limits: FairQueueLimits) {
    this.#limits = limits;
  }

  get length(): number {
    return this.#length;
  }

  /** False when there is no room. */
  put(source: Source, item: T): boolean {
    const own = this.#sources.get(source);
    const { each, all } = this.#limits;
    if (own === undefined ? this.#length >= 2 * all : own.length >= each || this.#length >= all) return false;
    if (own === undefined) this.#sources.set(source, [item]);
    else own.push(item);
    this.#length++;
    return true;
  }

  take(): T | undefined {
    const [next] = this.#sources;
    if (next === undefined) return undefined;
    const [source, own] = next;
    const item = own.shift();
    this.#sources.delete(source);
    if (own.length > 0) this.#sources.set(source, own);
    this.#length--;
    return item;
  }
}
