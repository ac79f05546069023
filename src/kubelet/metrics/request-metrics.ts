// What the kubelet's server was asked for, and how long that took. What anybody can write in a request is no label.
import type { Clock } from '../../base/clock.ts';
import type { Labels, MetricsRegistry } from '../../component-base/metrics.ts';
import type { HttpRequest, HttpResponse } from '../../wire/http-message.ts';

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const labelNames = ['method', 'path', 'server_type', 'long_running'];

const methods = ['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'];
const longRunning = ['exec', 'attach', 'portForward'];
const paths = [
  ...longRunning,
  'run',
  'containerLogs',
  'pods',
  'runningpods',
  'healthz',
  'stats',
  'metrics',
  'metrics/probes',
  'metrics/resource',
  'metrics/cadvisor',
];

function labelsOf({ method, url }: HttpRequest): Labels {
  const parts = url.split('?', 1)[0]!.split('/').slice(1);
  const root = parts[0] === 'metrics' ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
  return {
    method: methods.includes(method) ? method : 'other',
    path: paths.includes(root) ? root : 'other',
    server_type: 'readwrite',
    long_running: String(longRunning.includes(root)),
  };
}

/** A stream counts until its response begins. */
export function countedRequests(
  metrics: Pick<MetricsRegistry, 'counter' | 'gauge' | 'histogram'>,
  clock: Pick<Clock, 'monotonic'>,
  handle: (request: HttpRequest) => Promise<HttpResponse>,
): (request: HttpRequest) => Promise<HttpResponse> {
  const total = metrics.counter(
    'kubelet_http_requests_total',
    'Number of the http requests received since the server started',
    labelNames,
  );
  const duration = metrics.histogram(
    'kubelet_http_requests_duration_seconds',
    'Duration in seconds to serve http requests',
    labelNames,
    buckets,
  );
  const inFlight = metrics.gauge(
    'kubelet_http_inflight_requests',
    'Number of the inflight http requests',
    labelNames,
  );
  const underWay = new Map<string, number>();
  const add = (labels: Labels, change: number): void => {
    const key = Object.values(labels).join(' ');
    const count = (underWay.get(key) ?? 0) + change;
    underWay.set(key, count);
    inFlight.set(labels, count);
  };
  return async (request) => {
    const labels = labelsOf(request);
    const began = clock.monotonic();
    total.inc(labels);
    add(labels, 1);
    try {
      return await handle(request);
    } finally {
      add(labels, -1);
      duration.observe(labels, (clock.monotonic() - began) / 1000);
    }
  };
}
