// What the kubelet's server was asked for, and how long that took. What anybody can write in a request is no label.
import type { Clock } from '../../base/clock.ts';
import { once } from '../../base/once.ts';
import { defaultBuckets, type Labels, type MetricsRegistry } from '../../component-base/metrics.ts';
import { untilGiven } from '../../wire/answer-end.ts';
import type { HttpRequest, HttpResponse } from '../../wire/http-message.ts';
import { requestPath } from '../server/request-attributes.ts';

const labelNames = ['method', 'path', 'server_type', 'long_running'];

const methods = ['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'];
/** Upstream's list has `portforward` too, which is the name of no path: those are not counted as such there. */
const longRunning = ['exec', 'attach'];
const paths = [
  ...longRunning,
  'portForward',
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
  const [first = '', second] = requestPath(url)?.parts ?? [];
  const root = first === 'metrics' && second !== undefined ? `${first}/${second}` : first;
  return {
    method: methods.includes(method) ? method : 'other',
    path: paths.includes(root) ? root : 'other',
    server_type: 'readwrite',
    long_running: String(longRunning.includes(root)),
  };
}

/** As upstream, exec and the like are in flight until their session ends, and what is followed until nobody does. */
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
    defaultBuckets,
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
    const ended = once(() => {
      add(labels, -1);
      duration.observe(labels, (clock.monotonic() - began) / 1000);
    });
    try {
      return untilGiven(request, await handle(request), ended);
    } catch (error) {
      ended();
      throw error;
    }
  };
}
