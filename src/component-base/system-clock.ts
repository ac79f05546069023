// The real clock.
import type { Clock } from '../base/clock.ts';

/** Node runs a timer of more than this after a millisecond. */
const longestTimer = 2 ** 31 - 1;

function timer(ms: number, run: () => void): () => void {
  let current: NodeJS.Timeout;
  const wait = (left: number): void => {
    current = setTimeout(
      () => (left > longestTimer ? wait(left - longestTimer) : run()),
      Math.min(left, longestTimer),
    );
  };
  wait(ms);
  return () => clearTimeout(current);
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const cancel = timer(ms, resolve);
    const stopped = (): void => {
      cancel();
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', stopped, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener('abort', stopped);
    }
  },
  timer,
};
