// Puts the last net below this process.
import type { Logger } from '../component-base/logger.ts';
import type { MetricsRegistry } from '../component-base/metrics.ts';
import { systemClock } from '../component-base/system-clock.ts';
import { installLastNet } from './last-net.ts';

export function goOnAfterErrors(log: Logger, metrics: Pick<MetricsRegistry, 'counter'>): void {
  installLastNet({
    process,
    log,
    clock: systemClock,
    errors: metrics.counter(
      'porthole_unhandled_errors_total',
      'Errors that nobody caught: each is a bug, and the process went on.',
      ['origin'],
    ),
  });
}
