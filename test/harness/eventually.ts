// Waits for a state, never for an event: tries again until the assertion holds.
import { setTimeout as delay } from 'node:timers/promises';

export interface EventuallyOptions {
  /** Default 90,000: a machine that others keep busy is slow, not broken. */
  readonly timeoutMs?: number;
  readonly everyMs?: number;
}

/** States that are there for a second are seen. */
const mostMs = 500;

/** Returns what `attempt` returns once it no longer throws; throws its last error after the time. */
export async function eventually<T>(
  attempt: () => Promise<T> | T,
  options: EventuallyOptions = {},
): Promise<T> {
  const started = performance.now();
  const until = started + (options.timeoutMs ?? 90_000);
  for (;;) {
    const from = performance.now();
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > until) throw error;
      const now = performance.now();
      // What is tried takes half of the time, and what is long in coming is asked for less often unless it says how often: it
      // needs the processors, too. An attempt that only waited for its answer keeps nobody waiting as long again.
      const longer = options.everyMs === undefined ? (now - started) / 10 : 0;
      const rest = Math.min(Math.max(now - from, longer), mostMs);
      await delay(Math.max(options.everyMs ?? 100, rest));
    }
  }
}
