// How long a step of the proxy's work is, by what is done in it: one user's Services are tens of thousands of elements, and the
// kubelet answers between two steps.

import type { Clock } from '../base/clock.ts';
import { inSlices, Slice, Turns } from '../base/turns.ts';
import type { InSteps } from './proxy-backend.ts';

/** Elements of one step: some hundreds of microseconds. */
export const stepSize = 500;

export class Pace {
  #done = 0;

  did(work: number): void {
    this.#done += work;
  }

  /** True when the step is long enough. */
  over(work = 1): boolean {
    this.#done += work;
    if (this.#done < stepSize) return false;
    this.#done = 0;
    return true;
  }
}

/** Steps by the clock: what waits has its turn between two of them. */
export function inStepsBy(clock: Pick<Clock, 'timer' | 'monotonic'>): InSteps {
  const turns = new Turns((run) => clock.timer(0, run));
  return (steps) => inSlices(steps, new Slice(turns, () => clock.monotonic()));
}
