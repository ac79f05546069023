// How many objects there are of each resource, counted when somebody asks.
import type { Scheme } from '../apimachinery/declaration.ts';
import type { MetricsRegistry } from '../component-base/metrics.ts';
import type { EndpointDependencies } from './endpoints/endpoint.ts';

const help =
  'Number of stored objects at the time of last check split by kind. In case of a fetching error, the value will be -1.';

export function showObjectCounts(
  metrics: MetricsRegistry,
  scheme: Scheme,
  stores: EndpointDependencies['store'],
): void {
  /** Versions of a kind share their objects; the one that is stored need not be served. */
  function* counts(): Generator<{ group: string; resource: string; count: number }> {
    const seen = new Set<string>();
    for (const declaration of scheme.resources()) {
      const { group, resource } = declaration.storage;
      const key = `${group}/${resource}`;
      if (declaration.virtual || seen.has(key)) continue;
      seen.add(key);
      yield { group, resource, count: stores(declaration).cache.count() };
    }
  }
  metrics.readGauge('apiserver_resource_objects', help, ['group', 'resource'], () =>
    counts().map(({ group, resource, count }) => [{ group, resource }, count] as const),
  );
  metrics.readGauge(
    'apiserver_storage_objects',
    `[DEPRECATED, consider using apiserver_resource_objects instead] ${help}`,
    ['resource'],
    () =>
      counts().map(
        ({ group, resource, count }) =>
          [{ resource: group === '' ? resource : `${resource}.${group}` }, count] as const,
      ),
  );
}
