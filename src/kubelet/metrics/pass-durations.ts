// How long a pod's worker takes for one pass, by what it was made for.
import type { Clock } from '../../base/clock.ts';
import { defaultBuckets, type HistogramMetric, type MetricsRegistry } from '../../component-base/metrics.ts';

/** The first one; one after a change that the API told of; any other. */
export type PassKind = 'create' | 'update' | 'sync';

export class PassDurations {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #duration: HistogramMetric;

  constructor(metrics: Pick<MetricsRegistry, 'histogram'>, clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#duration = metrics.histogram(
      'kubelet_pod_worker_duration_seconds',
      'Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync',
      ['operation_type'],
      defaultBuckets,
    );
  }

  async timed(operation_type: PassKind, pass: () => Promise<void>): Promise<void> {
    const began = this.#clock.monotonic();
    try {
      await pass();
    } finally {
      this.#duration.observe({ operation_type }, (this.#clock.monotonic() - began) / 1000);
    }
  }
}
