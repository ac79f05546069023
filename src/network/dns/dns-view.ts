// The cluster as DNS looks at it: objects by the names and addresses that are asked for.
import type { Namespace, Service } from '../../api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../api/generated/types/discovery-v1.ts';
import { comparableIp } from '../../base/ip.ts';
import type { Informer, Lister } from '../../client/cache/informer.ts';
import type { ClusterView } from './dns-records.ts';

/** What an informer and a store of objects have alike. */
export interface Indexed<T> extends Lister<T> {
  addIndex: Informer<T>['addIndex'];
}

export interface ViewSources {
  readonly services: Indexed<Service>;
  readonly slices: Indexed<EndpointSlice>;
  readonly namespaces: Indexed<Namespace>;
}

/** Adds indexes: of informers before they start. */
export function clusterView({ services, slices, namespaces }: ViewSources): ClusterView {
  services.addIndex('dns/clusterIP', (service) => [
    ...new Set([service.spec.clusterIP ?? '', ...(service.spec.clusterIPs ?? [])].map(comparableIp)),
  ]);
  slices.addIndex('dns/service', (slice) => [
    `${slice.metadata.namespace}/${slice.metadata.labels?.['kubernetes.io/service-name'] ?? ''}`,
  ]);
  slices.addIndex('dns/address', (slice) => [
    ...new Set((slice.endpoints ?? []).flatMap((endpoint) => endpoint.addresses.map(comparableIp))),
  ]);
  return {
    service: (namespace, name) => services.get(name, namespace),
    slices: (namespace, name) => slices.byIndex('dns/service', `${namespace}/${name}`),
    namespaceExists: (name) => namespaces.get(name) !== undefined,
    servicesByIP: (ip) => services.byIndex('dns/clusterIP', ip),
    slicesByAddress: (ip) => slices.byIndex('dns/address', ip),
  };
}

export const indexed = <T>(informer: Informer<T>): Indexed<T> => ({
  get: (name, namespace) => informer.lister.get(name, namespace),
  list: (namespace) => informer.lister.list(namespace),
  byIndex: (name, value) => informer.lister.byIndex(name, value),
  addIndex: (name, values) => informer.addIndex(name, values),
});
