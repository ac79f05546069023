// Scratch memory of one scheduling cycle: what preFilter and preScore computed for filter and score.

/** A typed key; each plugin makes its own. */
export interface StateKey<T> {
  readonly name: string;
  readonly type?: T;
}

export const stateKey = <T>(name: string): StateKey<T> => ({ name });

export class CycleState {
  readonly #values = new Map<StateKey<unknown>, unknown>();
  /** Plugins whose preFilter (preScore) said skip: their filter (score) is not called. */
  readonly skippedFilters: Set<string> = new Set();
  readonly skippedScores: Set<string> = new Set();
  /** Whether its plugins are timed. */
  readonly isSample: boolean;

  constructor(isSample: boolean) {
    this.isSample = isSample;
  }

  read<T>(key: StateKey<T>): T | undefined {
    return this.#values.get(key) as T | undefined;
  }
  write<T>(key: StateKey<T>, value: T): void {
    this.#values.set(key, value);
  }
}
