// Time as a port: the real one lives in component-base/system-clock, a fake one in base/testing.

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds of a clock that never goes back. */
  monotonic(): number;
  /** Resolves after `ms`, or rejects with the signal's reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once after `ms`; the result cancels. */
  timer(ms: number, run: () => void): () => void;
}

/** The longest that a timer of Node can be, some 24 days: one of more runs after a millisecond. A Clock knows no such bound. */
export const longestTimerMs: number = 2 ** 31 - 1;

/** The end of the year 9999: RFC 3339 tells no later time. */
export const latestTimeMs: number = Date.UTC(9999, 11, 31, 23, 59, 59);
/** RFC 3339 with seconds, as metav1.Time is written; what is later than it can tell is its end. */
export const rfc3339 = (ms: number): string =>
  `${new Date(Math.min(ms, latestTimeMs)).toISOString().slice(0, 19)}Z`;
/** RFC 3339 with microseconds, as metav1.MicroTime is written. */
export const rfc3339Micro = (ms: number): string => `${new Date(ms).toISOString().slice(0, 23)}000Z`;
