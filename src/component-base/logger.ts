// Structured logs: one JSON line an entry on stderr, by pino.
import { type DestinationStream, pino } from 'pino';

/** Fields first, then the message, as pino: log.info({ pod }, 'started'). */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Logger;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** What could not be written is kept up to this, and written when there is space again. */
const mostKeptBytes = 1 << 20;

/**
 * Standard error, by which no process ends: it may lead to a disk that is full or broken, or to nobody. Whoever logs is
 * not the one to repair that.
 */
function standardError(): DestinationStream {
  const destination = pino.destination({ dest: 2, sync: true, maxLength: mostKeptBytes });
  let dropped = 0;
  destination.on('error', () => {});
  destination.on('drop', () => void dropped++);
  destination.on('write', () => {
    if (dropped === 0) return;
    const msg = `${dropped} lines before this one could not be written`;
    dropped = 0;
    destination.write(`${JSON.stringify({ level: 40, time: new Date().toISOString(), msg })}\n`);
  });
  return destination;
}

export function createLogger(options: { readonly level?: LogLevel; readonly name?: string } = {}): Logger {
  const name = options.name === undefined ? {} : { name: options.name };
  return pino(
    {
      level: options.level ?? 'info',
      ...name,
      // A person reads it, beside the times of kubectl and of the supervisor.
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { error: pino.stdSerializers.err },
    },
    standardError(),
  );
}

/**
 * What somebody else did wrong is said by its words alone: where we noticed it tells nobody anything, and makes each of the many
 * lines that a dead webhook is good for ten times as long. A fault of our own keeps its stack.
 */
export const inWords = (error: unknown): unknown =>
  error instanceof Error && !(error instanceof TypeError || error instanceof ReferenceError)
    ? error.message
    : error;

const nothing = (): void => {};
export const silentLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => silentLogger,
};
