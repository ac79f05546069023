// Work that is done again and again in the background until it is stopped.
import type { Clock } from '../base/clock.ts';

/** Waits first. `work` must not throw. Returns the function that ends it and waits for work under way. */
export function runEvery(clock: Clock, everyMs: number, work: () => Promise<void>): () => Promise<void> {
  const stopped = new AbortController();
  async function loop(): Promise<void> {
    for (;;) {
      try {
        await clock.sleep(everyMs, stopped.signal);
      } catch {
        return; // stopped
      }
      await work();
    }
  }
  const running = loop();
  return async () => {
    stopped.abort();
    await running;
  };
}
