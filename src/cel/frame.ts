// One run of a program: its variables, and what it has cost.
import type { Value } from './value.ts';

/** A part of a compiled program. */
export type Step = (frame: Frame) => Value;

/** The run is over, whatever it was at. */
export class Cancelled extends Error {}

const loopsBetweenQuestions = 100;

export class Frame {
  /** By the number that the compiler gave each variable; undefined: not given, or not evaluated yet. */
  readonly slots: (Value | undefined)[];
  cost = 0;
  /** What calls have read, whatever they cost. */
  private unpaid = 0;
  private readonly limit: number;
  private readonly stopped: (() => boolean) | undefined;
  private loops = 0;

  constructor(slots: (Value | undefined)[], limit: number, stopped: (() => boolean) | undefined) {
    this.slots = slots;
    this.limit = limit;
    this.stopped = stopped;
  }
  charge(cost: number): void {
    this.cost += cost;
    if (this.cost > this.limit) throw new Cancelled('operation cancelled: actual cost limit exceeded');
  }
  /**
   * A call has read so much of texts and lists. Upstream takes some functions for a step, however long these are, and an element that is a
   * short text for nothing: together they may read no more than the limit of a run would pay for.
   */
  read(cost: number): void {
    this.unpaid += cost;
    if (this.unpaid > this.limit) throw new Cancelled('operation cancelled: actual cost limit exceeded');
  }
  /** Called in each round of a loop. */
  nextRound(): void {
    if (this.stopped === undefined || ++this.loops % loopsBetweenQuestions !== 0) return;
    if (this.stopped()) throw new Cancelled('operation interrupted');
  }
}
