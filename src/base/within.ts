// A deadline for what has none of its own.
import type { Clock } from './clock.ts';

/** As `work`, or a rejection when that takes longer than `ms`; what is late is nobody's any more. */
export function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = clock.timer(ms, () => reject(new Error(`no answer within ${ms / 1000} s`)));
    work.then(resolve, reject).finally(stop);
  });
}
