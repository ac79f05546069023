// Keeps the routes to load balancers' addresses true: which changes of the cluster may make others of them.
import type { Node, Service } from '../api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../api/generated/types/discovery-v1.ts';
import { parseCidr } from '../base/ip.ts';
import type { Informer } from '../client/cache/informer.ts';
import { type BalancedCluster, balancerRoutes, isUsable } from './balancer-routes.ts';
import type { PlannedRoute } from './network-plan.ts';

export interface BalancerView {
  /** A prefix of the cluster's network: whose addresses Services are given. */
  readonly range: string;
  readonly slices: Informer<EndpointSlice>;
}

export interface BalancerRouting {
  routes(): readonly PlannedRoute[];
  /** Answers with its end. */
  start(changed: () => void): () => void;
}

const byService = 'balancer/service';
const serviceOf = (slice: EndpointSlice): string =>
  `${slice.metadata.namespace}/${slice.metadata.labels?.['kubernetes.io/service-name'] ?? ''}`;
const keyOf = ({ metadata }: Service): string => `${metadata.namespace}/${metadata.name}`;

/** What of a Service decides its routes. */
const wishOf = ({ spec, status }: Service): string =>
  spec.type === 'LoadBalancer'
    ? JSON.stringify([spec.externalTrafficPolicy, status?.loadBalancer?.ingress])
    : '';

const ended = (): void => undefined;

/** Before the informers start. */
export function balancerRouting(options: {
  readonly nodes: Informer<Node>;
  readonly services: Informer<Service>;
  readonly balancer?: BalancerView | undefined;
}): BalancerRouting {
  const { balancer, nodes, services } = options;
  if (balancer === undefined) return { routes: () => [], start: () => ended };
  const pool = parseCidr(balancer.range);
  if (pool === undefined) throw new Error(`${JSON.stringify(balancer.range)} is no prefix`);
  const { slices } = balancer;
  slices.addIndex(byService, (slice) => [serviceOf(slice)]);
  const cluster = (): BalancedCluster => ({
    nodes: nodes.lister.list(),
    services: services.lister.list(),
    slicesOf: (service) => slices.lister.byIndex(byService, keyOf(service)),
  });
  const isLocal = (slice: EndpointSlice): boolean => {
    const [namespace, name = ''] = serviceOf(slice).split('/');
    const spec = services.lister.get(name, namespace)?.spec;
    return spec?.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';
  };
  return {
    routes: () => balancerRoutes(cluster(), pool),
    start: (changed) => {
      const ends = [
        services.addHandler({
          added: (service) => wishOf(service) !== '' && changed(),
          updated: (old, service) => wishOf(old) !== wishOf(service) && changed(),
          deleted: (service) => wishOf(service) !== '' && changed(),
        }),
        nodes.addHandler({
          added: changed,
          updated: (old, node) => isUsable(old) !== isUsable(node) && changed(),
          deleted: changed,
        }),
        slices.addHandler({
          added: (slice) => isLocal(slice) && changed(),
          updated: (_old, slice) => isLocal(slice) && changed(),
          deleted: (slice) => isLocal(slice) && changed(),
        }),
      ];
      return () => {
        for (const end of ends) end();
      };
    },
  };
}
