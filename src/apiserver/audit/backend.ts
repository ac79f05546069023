// Where audit events go: one or more keepers, and what is said of what none of them kept.
import type { AuditEvent } from '../../api/audit/event.ts';
import { inWords, type Logger } from '../../component-base/logger.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';

export interface AuditBackend {
  /** False: they are not kept, and the request that they tell of must not go on. Never rejects. */
  process(events: readonly AuditEvent[]): boolean | Promise<boolean>;
  /** What it holds is written out. */
  close(): Promise<void>;
}

/** Tells of events that were lost: each in the count, and in the log where it begins and ends. */
export class AuditFailures {
  readonly #log: Logger;
  readonly #lost: ReturnType<MetricsRegistry['counter']>;
  readonly #failing = new Map<string, number>();

  constructor(log: Logger, metrics: MetricsRegistry) {
    this.#log = log;
    this.#lost = metrics.counter(
      'apiserver_audit_error_total',
      'Counter of audit events that failed to be audited properly. Plugin identifies the plugin affected by the error.',
      ['plugin'],
    );
  }

  lost(plugin: string, error: unknown, events: number): void {
    this.#lost.inc({ plugin }, events);
    const before = this.#failing.get(plugin);
    if (before === undefined) this.#log.error({ plugin, error: inWords(error) }, 'audit events are lost');
    this.#failing.set(plugin, (before ?? 0) + events);
  }

  worked(plugin: string): void {
    const lost = this.#failing.get(plugin);
    if (lost === undefined) return;
    this.#failing.delete(plugin);
    this.#log.warn({ plugin, lost }, 'audit events are kept again');
  }
}

/** Mode `blocking`: the request waits, and goes on whether or not its events were kept. */
export const ignoringFailures = (backend: AuditBackend): AuditBackend => ({
  process(events) {
    const kept = backend.process(events);
    return kept instanceof Promise ? kept.then(() => true) : true;
  },
  close: () => backend.close(),
});

/** All of them are told; all of them must keep it. */
export function unionBackend(backends: readonly AuditBackend[]): AuditBackend {
  if (backends.length === 1) return backends[0]!;
  return {
    process(events) {
      const kept = backends.map((backend) => backend.process(events));
      if (kept.some((one) => one instanceof Promise))
        return Promise.all(kept).then((all) => all.every((one) => one));
      return kept.every((one) => one);
    },
    close: async () => void (await Promise.all(backends.map((backend) => backend.close()))),
  };
}
