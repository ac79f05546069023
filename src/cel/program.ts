// A program: closures that give a value for variables, and what that cost as cel-go counts.
import { Cancelled, Frame, type Step } from './frame.ts';
import { CelError, type Value } from './value.ts';

export interface Limits {
  /** Of the cost of one run. */
  readonly cost?: number;
  /** Asked now and then; true ends the run. */
  readonly stopped?: () => boolean;
}
export interface Outcome {
  /** A CelError when it failed, or was ended. */
  readonly value: Value;
  readonly cost: number;
}
/** Variables by name; a run asks only for those that its program reads. A value may be adapted when it is asked for. */
export type Activation = Readonly<Record<string, Value>>;

export class Program {
  private readonly step: Step;
  private readonly names: readonly (string | undefined)[];
  private readonly slotCount: number;

  constructor(step: Step, names: readonly (string | undefined)[], slotCount: number) {
    this.step = step;
    this.names = names;
    this.slotCount = slotCount;
  }

  run(variables: Activation, limits: Limits = {}): Outcome {
    const slots: (Value | undefined)[] = this.names.map((name) => name && variables[name]);
    while (slots.length < this.slotCount) slots.push(undefined);
    const frame = new Frame(slots, limits.cost ?? Number.POSITIVE_INFINITY, limits.stopped);
    try {
      return { value: this.step(frame), cost: frame.cost };
    } catch (error) {
      // A text that is too long, objects that are too deep: what Go's CEL calls a panic.
      if (error instanceof RangeError)
        return { value: new CelError(`internal error: ${error.message}`), cost: frame.cost };
      if (error instanceof Cancelled) return { value: new CelError(error.message), cost: frame.cost };
      throw error;
    }
  }
}
