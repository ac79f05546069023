// How long images take to be pulled, by how large they are.
import type { HistogramMetric, MetricsRegistry } from '../../component-base/metrics.ts';

const buckets = [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600];

const mib = 2 ** 20;
const gib = 2 ** 30;
/** Upstream's names of what is larger than this; the largest first. */
const sizes: readonly (readonly [number, string])[] = [
  [100 * gib, 'GT100GB'],
  [60 * gib, '60GB-100GB'],
  [40 * gib, '40GB-60GB'],
  [30 * gib, '30GB-40GB'],
  [20 * gib, '20GB-30GB'],
  [10 * gib, '10GB-20GB'],
  [5 * gib, '5GB-10GB'],
  [gib, '1GB-5GB'],
  [500 * mib, '500MB-1GB'],
  [100 * mib, '100MB-500MB'],
  [10 * mib, '10MB-100MB'],
  [0, '0-10MB'],
];

export class PullDurations {
  readonly #duration: HistogramMetric;

  constructor(metrics: Pick<MetricsRegistry, 'histogram'>) {
    this.#duration = metrics.histogram(
      'kubelet_image_pull_duration_seconds',
      'Duration in seconds to pull an image.',
      ['image_size_in_bytes'],
      buckets,
    );
  }

  pulled(sizeBytes: number, tookMs: number): void {
    const [, image_size_in_bytes = 'N/A'] = sizes.find(([bytes]) => sizeBytes > bytes) ?? [];
    this.#duration.observe({ image_size_in_bytes }, tookMs / 1000);
  }
}
