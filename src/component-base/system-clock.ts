// The real clock.
import { type Clock, longestTimerMs } from '../base/clock.ts';

function timer(ms: number, run: () => void): () => void {
  let current: NodeJS.Timeout;
  const wait = (left: number): void => {
    current = setTimeout(
      () => (left > longestTimerMs ? wait(left - longestTimerMs) : run()),
      Math.min(left, longestTimerMs),
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
