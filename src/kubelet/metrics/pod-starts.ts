// How long pods take from the moment when the kubelet sees them first until they run.
import type { Pod, PodStatus } from '../../api/generated/types/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import type { HistogramMetric, MetricsRegistry } from '../../component-base/metrics.ts';
import { podUid } from '../pod-format.ts';

const buckets = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700,
  3600,
];

export class PodStarts {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #duration: HistogramMetric;
  /** Undefined: it has begun, whatever the API still shows of it. */
  readonly #seenAt = new Map<string, number | undefined>();

  constructor(metrics: Pick<MetricsRegistry, 'histogram'>, clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#duration = metrics.histogram(
      'kubelet_pod_start_duration_seconds',
      'Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run',
      [],
      buckets,
    );
  }

  /** One that ran before this agent did has begun already. */
  seen(pod: Pod): void {
    const uid = podUid(pod);
    if ((pod.status?.phase ?? 'Pending') !== 'Pending' || this.#seenAt.has(uid)) return;
    this.#seenAt.set(uid, this.#clock.monotonic());
  }

  became(pod: Pod, { phase = 'Pending' }: PodStatus): void {
    const uid = podUid(pod);
    const seenAt = this.#seenAt.get(uid);
    if (seenAt === undefined || phase === 'Pending') return;
    if (phase === 'Running') this.#duration.observe({}, (this.#clock.monotonic() - seenAt) / 1000);
    this.#seenAt.set(uid, undefined);
  }

  forget(uid: string): void {
    this.#seenAt.delete(uid);
  }
}
