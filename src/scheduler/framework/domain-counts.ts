// How many pods there are in each domain of a topology key; a copy for a what-if costs only what it changes.

interface Domain {
  readonly name: string;
  readonly count: number;
}

/** Read only once there are copies. */
interface Base {
  readonly counts: Map<string, number>;
  /** The two domains with the fewest: enough to know the least when one of them has changed. */
  lowest: readonly Domain[] | undefined;
}

function lowestOf(counts: ReadonlyMap<string, number>): readonly Domain[] {
  let [first, second]: [Domain?, Domain?] = [];
  for (const [name, count] of counts) {
    if (first === undefined || count < first.count) [first, second] = [{ name, count }, first];
    else if (second === undefined || count < second.count) second = { name, count };
  }
  return [first, second].filter((one) => one !== undefined);
}

export class DomainCounts {
  readonly #base: Base;
  /** Of a copy: the domains that differ, most often that of one node. */
  readonly #changed: Map<string, number> | undefined;
  #occupied: number;

  constructor(of?: DomainCounts) {
    this.#base = of ? of.#base : { counts: new Map(), lowest: undefined };
    this.#changed = of ? new Map(of.#changed) : undefined;
    this.#occupied = of ? of.#occupied : 0;
  }

  /** For a what-if. Whoever has copies changes only those. */
  copy(): DomainCounts {
    return new DomainCounts(this);
  }

  /** undefined: a domain that nobody has spoken of. */
  get(domain: string): number | undefined {
    return this.#changed?.get(domain) ?? this.#base.counts.get(domain);
  }

  has(domain: string): boolean {
    return (this.get(domain) ?? 0) > 0;
  }

  add(domain: string, by: number): void {
    const before = this.get(domain) ?? 0;
    const now = before + by;
    if (before > 0 !== now > 0) this.#occupied += now > 0 ? 1 : -1;
    if (this.#changed) this.#changed.set(domain, now);
    else {
      this.#base.counts.set(domain, now);
      this.#base.lowest = undefined;
    }
  }

  /** Whether no domain has any. */
  get isEmpty(): boolean {
    return this.#occupied === 0;
  }

  /** How many domains were spoken of. */
  get size(): number {
    let { size } = this.#base.counts;
    for (const domain of this.#changed?.keys() ?? []) if (!this.#base.counts.has(domain)) size++;
    return size;
  }

  /** What the domain with the fewest has; of none it is as much as can be. */
  least(): number {
    this.#base.lowest ??= lowestOf(this.#base.counts);
    const changed = this.#changed;
    if (changed === undefined || changed.size === 0)
      return this.#base.lowest[0]?.count ?? Number.POSITIVE_INFINITY;
    const counts =
      changed.size === 1
        ? this.#base.lowest.filter(({ name }) => !changed.has(name)).map(({ count }) => count)
        : [...this.#base.counts].filter(([name]) => !changed.has(name)).map(([, count]) => count);
    let least = Number.POSITIVE_INFINITY;
    for (const count of counts) least = Math.min(least, count);
    for (const count of changed.values()) least = Math.min(least, count);
    return least;
  }
}
