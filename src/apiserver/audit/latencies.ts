// Where the time of one request went, layer by layer, for the audit log: it is told of requests that took long.
import { formatGoDuration } from '../../base/go-duration.ts';

/** By upstream's names. */
export type Layer =
  | 'apf-queue-wait'
  | 'authentication'
  | 'authorization'
  | 'decode-response-object'
  | 'etcd'
  | 'impersonation'
  | 'mutating-webhook'
  | 'serialize-response-object'
  | 'transform-response-object'
  | 'validating-webhook';

/** What is done at the same time, or once: the longest counts, not the sum. */
const longest: ReadonlySet<Layer> = new Set<Layer>(['apf-queue-wait', 'authorization', 'validating-webhook']);

/** As upstream's traces: what is faster is nobody's worry. */
const tellsAboveMs = 500;

export class Latencies {
  readonly #layers = new Map<Layer, number>();

  took(layer: Layer, ms: number): void {
    const before = this.#layers.get(layer) ?? 0;
    this.#layers.set(layer, longest.has(layer) ? Math.max(before, ms) : before + ms);
  }

  /** The annotations of a request that took so long in all. */
  *annotations(totalMs: number): Generator<readonly [key: string, value: string]> {
    if (totalMs <= tellsAboveMs) return;
    const layers = [...this.#layers].filter(([, ms]) => ms > 0);
    if (layers.length === 0) return;
    for (const [layer, ms] of [...layers, ['total', totalMs] as const])
      yield [`apiserver.latency.k8s.io/${layer}`, formatGoDuration(ms)];
  }
}
