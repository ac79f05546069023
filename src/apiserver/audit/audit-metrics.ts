// What the audit log counts, with upstream's names.
import type { AuditLevel } from '../../api/audit/policy.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';

export interface AuditMetrics {
  /** A request falls under a rule of this level. */
  level(level: AuditLevel): void;
  event(): void;
  /** A request is refused, because its event could not be kept. */
  rejected(): void;
}

export function auditMetrics(metrics: MetricsRegistry): AuditMetrics {
  const events = metrics
    .counter(
      'apiserver_audit_event_total',
      'Counter of audit events generated and sent to the audit backend.',
      [],
    )
    .of({});
  const rejected = metrics
    .counter(
      'apiserver_audit_requests_rejected_total',
      'Counter of apiserver requests rejected due to an error in audit logging backend.',
      [],
    )
    .of({});
  const levels = metrics.counter(
    'apiserver_audit_level_total',
    'Counter of policy levels for audit events (1 per request).',
    ['level'],
  );
  const level = (name: AuditLevel) => levels.of({ level: name });
  const of = {
    None: level('None'),
    Metadata: level('Metadata'),
    Request: level('Request'),
    RequestResponse: level('RequestResponse'),
  };
  return {
    level: (name) => of[name].inc(),
    event: () => events.inc(),
    rejected: () => rejected.inc(),
  };
}
