// Structured logs: one JSON line an entry on stderr, by pino.
import { pino } from 'pino';

/** Fields first, then the message, as pino: log.info({ pod }, 'started'). */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Logger;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

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
    pino.destination({ dest: 2, sync: true }),
  );
}

const nothing = (): void => {};
export const silentLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => silentLogger,
};
