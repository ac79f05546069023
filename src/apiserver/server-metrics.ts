// What the API server counts about its requests, with upstream's names and labels.
import type { MetricsRegistry } from '../component-base/metrics.ts';
import type { RequestContext } from './request-context.ts';
import { isLongRunning, type RequestInfo } from './request-info.ts';

const durationBuckets: readonly number[] = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

export interface ServerMetrics {
  finished(context: RequestContext, status: number, milliseconds: number): void;
}

const scopeOf = (context: RequestContext): string => {
  const { info } = context;
  if (!info.isResource) return '';
  if (info.name !== '') return 'resource';
  return info.namespace !== '' ? 'namespace' : 'cluster';
};

const methods: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

export function serverMetrics(
  metrics: MetricsRegistry,
  isServed: (info: RequestInfo) => boolean,
): ServerMetrics {
  const labels = ['verb', 'group', 'version', 'resource', 'subresource', 'scope'] as const;
  const total = metrics.counter(
    'apiserver_request_total',
    'Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code.',
    ['code', 'component', 'dry_run', ...labels],
  );
  const duration = metrics.histogram(
    'apiserver_request_duration_seconds',
    'Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource, scope and component.',
    ['component', 'dry_run', ...labels],
    durationBuckets,
  );
  const deprecated = metrics.gauge(
    'apiserver_requested_deprecated_apis',
    'Gauge of deprecated APIs that have been requested, broken out by API group, version, resource, subresource, and removed_release.',
    ['group', 'version', 'resource', 'subresource', 'removed_release'],
  );
  return {
    finished(context, status, milliseconds) {
      const { info } = context;
      if (info === undefined) return;
      // Paths and names of clients are no labels: they would never end.
      const known = info.isResource && isServed(info);
      const values = {
        component: 'apiserver',
        dry_run: context.request.url.includes('dryRun=All') ? 'All' : '',
        verb: known
          ? info.verb.toUpperCase()
          : methods.includes(context.request.method)
            ? context.request.method
            : 'other',
        group: known ? info.group : '',
        version: known ? info.version : '',
        resource: known ? info.resource : '',
        subresource: known ? info.subresource : '',
        scope: scopeOf(context),
      };
      total.inc({ ...values, code: String(status) });
      if (known && context.deprecated) {
        const { group, version, resource, subresource } = values;
        deprecated.set({ group, version, resource, subresource, removed_release: '' }, 1);
      }
      if (!isLongRunning(info)) duration.observe(values, milliseconds / 1000);
    },
  };
}
