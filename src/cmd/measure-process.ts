// What a process measures of itself, from when those have been served who waited for its start.
import type { MetricsRegistry } from '../component-base/metrics.ts';
import { systemClock } from '../component-base/system-clock.ts';

/** A scrape before that is answered all the same: it begins then. */
const servedMs = 2_000;

/** The result cancels. */
export const measureProcess = (metrics: MetricsRegistry): (() => void) =>
  systemClock.timer(servedMs, () => void metrics.begin());
