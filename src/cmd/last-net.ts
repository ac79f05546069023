// The last net below a server or an agent: what nobody caught is counted, logged with its stack, and the process goes on.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../component-base/logger.ts';
import type { CounterMetric } from '../component-base/metrics.ts';

/** A process, as far as the net is concerned. */
export interface NetProcess {
  on(event: 'uncaughtException' | 'unhandledRejection', listener: (error: unknown) => void): unknown;
}

export interface LastNetOptions {
  readonly process: NetProcess;
  readonly log: Logger;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Label `origin`: uncaughtException or unhandledRejection. */
  readonly errors: Pick<CounterMetric, 'inc'>;
}

/** An error that comes at each event must not fill the disk: beyond this many a minute it is only counted. */
const stacksPerMinute = 30;

/** Whoever read our output is gone: there is nobody to tell. */
const deafCodes: readonly string[] = ['EPIPE', 'ERR_STREAM_DESTROYED'];

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
const isOutput = (error: unknown): boolean =>
  deafCodes.includes(codeOf(error)) && (error as { syscall?: unknown }).syscall === 'write';

export function installLastNet(options: LastNetOptions): void {
  const { log, clock, errors } = options;
  let minute = 0;
  let said = 0;
  const caught = (origin: string, error: unknown): void => {
    errors.inc({ origin });
    if (isOutput(error)) return;
    const now = Math.floor(clock.monotonic() / 60_000);
    if (now !== minute) said = 0;
    minute = now;
    if (++said > stacksPerMinute) return;
    const shown = error instanceof Error ? error : new Error(`not an Error: ${String(error)}`);
    try {
      log.error({ error: shown, origin }, 'a bug: an error that nobody caught; the process goes on');
    } catch {
      // Whoever throws in here ends the process.
    }
  };
  options.process.on('uncaughtException', (error) => caught('uncaughtException', error));
  options.process.on('unhandledRejection', (error) => caught('unhandledRejection', error));
}
