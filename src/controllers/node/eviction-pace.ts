// A token bucket of one, whose rate changes.

export class EvictionPace {
  #perSecond: number;
  /** When the token is there; it doesn't become two by waiting. */
  #readyAt: number;

  constructor(perSecond: number, moment: number) {
    this.#perSecond = perSecond;
    this.#readyAt = perSecond > 0 ? moment : Number.POSITIVE_INFINITY;
  }

  /** Whether it is another one than before. */
  setRate(perSecond: number, moment: number): boolean {
    if (perSecond === this.#perSecond) return false;
    this.#perSecond = perSecond;
    // Who stood still, or has just taken one, begins with the wait for the next: a change must not be a way to get more of them.
    if (perSecond <= 0 || moment < this.#readyAt) this.#readyAt = this.#next(moment);
    return true;
  }

  /** 0: taken. Else how long to wait, which may be for ever. */
  take(moment: number): number {
    if (moment < this.#readyAt) return this.#readyAt - moment;
    this.#readyAt = this.#next(moment);
    return 0;
  }

  #next(moment: number): number {
    return this.#perSecond > 0 ? moment + 1000 / this.#perSecond : Number.POSITIVE_INFINITY;
  }
}
