// Waits for a state, never for an event: tries again until the assertion holds.
import { setTimeout as delay } from 'node:timers/promises';

export interface EventuallyOptions {
  /** Default 90,000: a machine that others keep busy is slow, not broken. */
  readonly timeoutMs?: number;
  readonly everyMs?: number;
}

/** Returns what `attempt` returns once it no longer throws; throws its last error after the time. */
export async function eventually<T>(
  attempt: () => Promise<T> | T,
  options: EventuallyOptions = {},
): Promise<T> {
  const until = performance.now() + (options.timeoutMs ?? 90_000);
  for (;;) {
    const from = performance.now();
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > until) throw error;
      // Whatever is tried takes half of the time at most: what is waited for needs the processors, too.
      await delay(Math.max(options.everyMs ?? 100, performance.now() - from));
    }
  }
}
