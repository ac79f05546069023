// A map that is walked in key order: runs of sorted keys, so that one write moves a few hundred slots at most.

interface Run<V> {
  readonly keys: string[];
  readonly values: V[];
}

const maxRun = 256;

export class SortedMap<V> {
  #runs: Run<V>[] = [{ keys: [], values: [] }];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    const run = this.#runs[this.#runOf(key)]!;
    const at = lowerBound(run.keys, key);
    return run.keys[at] === key ? run.values[at] : undefined;
  }

  set(key: string, value: V): void {
    const index = this.#runOf(key);
    const run = this.#runs[index]!;
    const at = lowerBound(run.keys, key);
    if (run.keys[at] === key) {
      run.values[at] = value;
      return;
    }
    run.keys.splice(at, 0, key);
    run.values.splice(at, 0, value);
    this.#size++;
    if (run.keys.length <= maxRun) return;
    // Keys often come in order: then the left run stays nearly full.
    const cut = at === run.keys.length - 1 ? maxRun - 8 : maxRun >> 1;
    this.#runs.splice(index + 1, 0, { keys: run.keys.splice(cut), values: run.values.splice(cut) });
  }

  delete(key: string): boolean {
    const index = this.#runOf(key);
    const run = this.#runs[index]!;
    const at = lowerBound(run.keys, key);
    if (run.keys[at] !== key) return false;
    run.keys.splice(at, 1);
    run.values.splice(at, 1);
    this.#size--;
    if (run.keys.length === 0 && this.#runs.length > 1) this.#runs.splice(index, 1);
    return true;
  }

  /** Entries with key ≥ `from`, in order. The map must not change during the walk. */
  *from(from: string): Generator<[string, V], void, void> {
    let index = this.#runOf(from);
    let at = lowerBound(this.#runs[index]!.keys, from);
    for (; index < this.#runs.length; index++) {
      const { keys, values } = this.#runs[index]!;
      for (; at < keys.length; at++) yield [keys[at]!, values[at]!];
      at = 0;
    }
  }

  /** Calls `visit` for entries with key ≥ `from` until it returns false: the walk without an iterator's cost. */
  walk(from: string, visit: (key: string, value: V) => boolean): void {
    let index = this.#runOf(from);
    let at = lowerBound(this.#runs[index]!.keys, from);
    for (; index < this.#runs.length; index++) {
      const { keys, values } = this.#runs[index]!;
      for (; at < keys.length; at++) if (!visit(keys[at]!, values[at]!)) return;
      at = 0;
    }
  }

  /** The last run whose first key is not after `key`. */
  #runOf(key: string): number {
    let low = 0;
    let high = this.#runs.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#runs[middle]!.keys[0]! <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
