// Over which node the machine reaches the address of a load balancer: any that is ready, or one with a pod of the Service where it
// says that its traffic stays on its node. Pure.
import type { Node, Service } from '../api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../api/generated/types/discovery-v1.ts';
import { type Cidr, cidrContains, parseIp } from '../base/ip.ts';
import type { PlannedRoute } from './network-plan.ts';

const excluded = 'node.kubernetes.io/exclude-from-external-load-balancers';

export interface BalancedCluster {
  readonly nodes: readonly Node[];
  readonly services: readonly Service[];
  slicesOf(service: Service): readonly EndpointSlice[];
}

const internalIP = ({ status }: Node): string | undefined =>
  status?.addresses?.find(({ type }) => type === 'InternalIP')?.address;

const isReady = ({ status }: Node): boolean =>
  status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true;

/** Whether traffic from outside may come over it. */
export const isUsable = (node: Node): boolean =>
  isReady(node) && node.metadata.labels?.[excluded] === undefined;

/** Those that take traffic for it; a pod that is on its way out takes some as long as no other does. */
function nodesWithPods(slices: readonly EndpointSlice[]): ReadonlySet<string> {
  const endpoints = slices.flatMap((slice) => slice.endpoints ?? []);
  const named = (list: typeof endpoints): string[] => list.flatMap(({ nodeName }) => nodeName ?? []);
  const ready = named(endpoints.filter(({ conditions }) => conditions?.ready !== false));
  return new Set(
    ready.length > 0 ? ready : named(endpoints.filter(({ conditions }) => conditions?.serving === true)),
  );
}

/** A number that is another for each pair: the node with the highest has the address, and when it goes only its addresses move. */
function weightOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  // What differs at the end only is to differ everywhere.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** `pool`: which addresses are given to Services here. Of an address that several have the oldest Service counts. */
export function balancerRoutes({ nodes, services, slicesOf }: BalancedCluster, pool: Cidr): PlannedRoute[] {
  const usable = nodes.filter(isUsable);
  const routes = new Map<string, PlannedRoute>();
  const byAge = (a: Service, b: Service): number =>
    (a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? -1 : 1;
  for (const service of services.toSorted(byAge)) {
    if (service.spec.type !== 'LoadBalancer') continue;
    for (const { ip: to } of service.status?.loadBalancer?.ingress ?? []) {
      const address = parseIp(to ?? '');
      if (to === undefined || address === undefined || !cidrContains(pool, address) || routes.has(to))
        continue;
      const local =
        service.spec.externalTrafficPolicy === 'Local' ? nodesWithPods(slicesOf(service)) : undefined;
      const candidates = usable.filter(
        ({ metadata }) => local === undefined || local.has(metadata.name ?? ''),
      );
      const [best] = candidates
        .map((node) => ({ via: internalIP(node), weight: weightOf(`${to} ${node.metadata.name}`) }))
        .filter(({ via }) => via !== undefined && via !== to)
        .sort((a, b) => b.weight - a.weight);
      if (best !== undefined) routes.set(to, { to, via: best.via });
    }
  }
  return [...routes.values()];
}
