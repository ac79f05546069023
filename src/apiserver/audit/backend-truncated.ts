// Events and batches that are too large: objects are cut out of the first, the second are sent in parts.
import { type AuditEvent, eventLine } from '../../api/audit/event.ts';
import type { AuditBackend, AuditFailures } from './backend.ts';

export interface TruncateOptions {
  readonly maxEventBytes: number;
  readonly maxBatchBytes: number;
}

const sizeOf = (event: AuditEvent): number => Buffer.byteLength(eventLine(event)) + 1;

const truncated = (event: AuditEvent): AuditEvent => ({
  ...event,
  requestObject: undefined,
  responseObject: undefined,
  annotations: { ...event.annotations, 'audit.k8s.io/truncated': 'true' },
});

export function truncatedBackend(
  delegate: AuditBackend,
  { maxEventBytes, maxBatchBytes }: TruncateOptions,
  failures: AuditFailures,
): AuditBackend {
  const fitting = (event: AuditEvent): { readonly event: AuditEvent; readonly size: number } | undefined => {
    const size = sizeOf(event);
    if (size <= maxEventBytes) return { event, size };
    const { level } = event;
    const cut = level === 'Request' || level === 'RequestResponse' ? truncated(event) : event;
    const cutSize = sizeOf(cut);
    if (cutSize <= maxEventBytes) return { event: cut, size: cutSize };
    failures.lost('truncate', new Error('event is too large even after truncating'), 1);
    return undefined;
  };
  return {
    async process(events) {
      const batches: AuditEvent[][] = [];
      let room = 0;
      for (const event of events) {
        const fits = fitting(event);
        if (fits === undefined) continue;
        if (fits.size > room) {
          batches.push([]);
          room = maxBatchBytes;
        }
        batches.at(-1)!.push(fits.event);
        room -= fits.size;
      }
      let kept = true;
      for (const batch of batches) kept = (await delegate.process(batch)) && kept;
      return kept;
    },
    close: () => delegate.close(),
  };
}
