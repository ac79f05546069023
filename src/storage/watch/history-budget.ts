// How many bytes of history all rings of one store may hold together: the ring that holds most gives up its oldest events.

export interface HistoryHolder {
  /** What its events take. */
  readonly bytes: number;
  readonly events: number;
  /** Forgets the oldest event. */
  forget(): void;
}

/** 20,000 changes of objects of 1 KB. A watcher that is further behind lists again, as upstream's do. */
const defaultLimit = 64 * 1024 * 1024;

export class HistoryBudget {
  readonly #limit: number;
  readonly #holders = new Set<HistoryHolder>();
  #used = 0;

  constructor(limit: number = defaultLimit) {
    this.#limit = limit;
  }

  get used(): number {
    return this.#used;
  }

  enter(holder: HistoryHolder): void {
    this.#holders.add(holder);
  }

  /** Bytes that a holder took, or gave back. */
  changed(bytes: number): void {
    this.#used += bytes;
  }

  /** Called when an event is in its place: it stays, however large it is, so that who waits for it gets it. */
  settle(newest: HistoryHolder): void {
    while (this.#used > this.#limit) {
      const most = this.#largest(newest);
      if (most === undefined) return;
      most.forget();
    }
  }

  #largest(newest: HistoryHolder): HistoryHolder | undefined {
    let most: HistoryHolder | undefined;
    for (const holder of this.#holders)
      if (holder.events > (holder === newest ? 1 : 0) && (most === undefined || holder.bytes > most.bytes))
        most = holder;
    return most;
  }
}
