// Audit events as lines of a file.
import { type AuditEvent, eventLine, legacyLine } from '../../api/audit/event.ts';
import type { AuditBackend, AuditFailures } from './backend.ts';

/** Takes whole lines, all or none; throws when it can't. */
export interface LineSink {
  write(lines: string): void;
  close(): Promise<void>;
}

export type AuditLogFormat = 'json' | 'legacy';

export function fileBackend(sink: LineSink, format: AuditLogFormat, failures: AuditFailures): AuditBackend {
  const lineOf: (event: AuditEvent) => string = format === 'json' ? eventLine : legacyLine;
  return {
    process(events) {
      try {
        let lines = '';
        for (const event of events) lines += `${lineOf(event)}\n`;
        sink.write(lines);
        failures.worked('log');
        return true;
      } catch (error) {
        failures.lost('log', error, events.length);
        return false;
      }
    },
    close: () => sink.close(),
  };
}
