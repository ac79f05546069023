// What a client tells of its requests, by client-go's names.
import type { Clock } from '../base/clock.ts';
import {
  type Count,
  declareMetrics,
  type MetricsRegistry,
  type Observed,
} from '../component-base/metrics.ts';

export interface ClientMetrics {
  /** Undefined: there was no answer. */
  answered(method: string, status: number | undefined): void;
  /** From the beginning of a request to the end of its answer, or until it failed; not of watches. Undefined: none came. */
  took(method: string, sinceMs: number, requestBytes: number, responseBytes: number | undefined): void;
  readonly clock: Pick<Clock, 'monotonic'>;
}

const latency = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const sizes = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216];
const labels = ['verb', 'host'];

const declared = declareMetrics((metrics) => ({
  requests: metrics.counter(
    'rest_client_requests_total',
    'Number of HTTP requests, partitioned by status code, method, and host.',
    ['code', 'method', 'host'],
  ),
  duration: metrics.histogram(
    'rest_client_request_duration_seconds',
    'Request latency in seconds. Broken down by verb, and host.',
    labels,
    latency,
  ),
  requestSize: metrics.histogram(
    'rest_client_request_size_bytes',
    'Request size in bytes. Broken down by verb and host.',
    labels,
    sizes,
  ),
  responseSize: metrics.histogram(
    'rest_client_response_size_bytes',
    'Response size in bytes. Broken down by verb and host.',
    labels,
    sizes,
  ),
}));

interface OfMethod {
  readonly codes: Map<number | undefined, Count>;
  readonly duration: Observed;
  readonly requestSize: Observed;
  readonly responseSize: Observed;
}

/** Of all clients of one server. */
export function clientMetrics(
  metrics: MetricsRegistry,
  clock: Pick<Clock, 'monotonic'>,
  host: string,
): ClientMetrics {
  const { requests, duration, requestSize, responseSize } = declared(metrics);
  const methods = new Map<string, OfMethod>();
  const of = (method: string): OfMethod => {
    let known = methods.get(method);
    if (known === undefined) {
      const values = { verb: method, host };
      known = {
        codes: new Map(),
        duration: duration.of(values),
        requestSize: requestSize.of(values),
        responseSize: responseSize.of(values),
      };
      methods.set(method, known);
    }
    return known;
  };
  return {
    clock,
    answered(method, status) {
      const { codes } = of(method);
      let count = codes.get(status);
      if (count === undefined) {
        count = requests.of({ code: String(status ?? '<error>'), method, host });
        codes.set(status, count);
      }
      count.inc();
    },
    took(method, sinceMs, requestBytes, responseBytes) {
      const known = of(method);
      known.duration.observe((clock.monotonic() - sinceMs) / 1000);
      known.requestSize.observe(requestBytes);
      if (responseBytes !== undefined) known.responseSize.observe(responseBytes);
    },
  };
}
