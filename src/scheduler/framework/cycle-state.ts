// Scratch memory of one scheduling cycle: what preFilter and preScore computed for filter and score.

/** A typed key; each plugin makes its own. */
export interface StateKey<T> {
  readonly name: string;
  readonly type?: T;
  /** Of values that pods are added to and taken from: a copy for a what-if. Without it the value is shared. */
  readonly clone?: ((value: T) => T) | undefined;
}

export const stateKey = <T>(name: string, clone?: (value: T) => T): StateKey<T> => ({ name, clone });

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
    return this.#values.get(key as StateKey<unknown>) as T | undefined;
  }
  write<T>(key: StateKey<T>, value: T): void {
    this.#values.set(key as StateKey<unknown>, value);
  }

  /** For a what-if (preemption, nominated pods) that this one does not notice. Nothing of it is timed. */
  clone(): CycleState {
    const copy = new CycleState(false);
    for (const [key, value] of this.#values) copy.#values.set(key, key.clone ? key.clone(value) : value);
    for (const name of this.skippedFilters) copy.skippedFilters.add(name);
    for (const name of this.skippedScores) copy.skippedScores.add(name);
    return copy;
  }
}
