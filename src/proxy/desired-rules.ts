// Services and EndpointSlices to the rules of this node: pure.
import type { Service, ServicePort } from '../api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../api/generated/types/discovery-v1.ts';
import { ipv4CidrContains, parseIpv4, parseIpv4Cidr } from '../base/ipv4.ts';
import { isSpecial, type NodeView, type SelectedEndpoints, selectEndpoints } from './endpoint-selection.ts';
import type { Frontend, Protocol, ServiceRules } from './rule-set.ts';

const defaultAffinitySeconds = 10_800;

/** Headless and foreign ones are not proxied. */
function isProxied(service: Service): boolean {
  const { clusterIP, type } = service.spec;
  const labels = service.metadata.labels ?? {};
  if (type === 'ExternalName' || clusterIP === undefined || clusterIP === '' || clusterIP === 'None')
    return false;
  return !(
    Object.hasOwn(labels, 'service.kubernetes.io/service-proxy-name') ||
    Object.hasOwn(labels, 'service.kubernetes.io/headless')
  );
}

function protocolOf(port: ServicePort): Protocol | undefined {
  const protocol = (port.protocol ?? 'TCP').toLowerCase();
  return protocol === 'tcp' || protocol === 'udp' || protocol === 'sctp' ? protocol : undefined;
}

function affinityOf(service: Service): number {
  if (service.spec.sessionAffinity !== 'ClientIP') return 0;
  return service.spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? defaultAffinitySeconds;
}

function ingressIPs(service: Service): string[] {
  if (service.spec.type !== 'LoadBalancer') return [];
  return (service.status?.loadBalancer?.ingress ?? [])
    .filter((ingress) => ingress.ipMode !== 'Proxy')
    .flatMap((ingress) => ingress.ip ?? []);
}

/** Of any address: nodes' own may be external addresses, but not at the cost of logs and exec for all of their pods. */
const kubeletPort = 10_250;

/** A user of one namespace may write any address: those by which the cluster itself works are not to be had. */
function isClaimable(ip: string, port: number, node: NodeView): boolean {
  const value = parseIpv4(ip);
  if (value === undefined || port === kubeletPort || isSpecial(value)) return false;
  return !node.reserved.some((cidr) => ipv4CidrContains(cidr, value));
}

function allowedSources(service: Service): readonly string[] | undefined {
  const ranges = service.spec.loadBalancerSourceRanges ?? [];
  const valid = ranges.map((range) => range.trim()).filter((range) => parseIpv4Cidr(range) !== undefined);
  if (ranges.length === 0 || valid.some((range) => parseIpv4Cidr(range)!.bits === 0)) return undefined;
  return valid;
}

type Base = Pick<Frontend, 'protocol' | 'affinitySeconds' | 'portName'>;

function clusterFrontend(
  service: Service,
  ip: string,
  port: number,
  base: Base,
  found: SelectedEndpoints,
): Frontend {
  const isLocal = service.spec.internalTrafficPolicy === 'Local';
  return {
    ...base,
    ip,
    port,
    source: 'cluster',
    backends: isLocal ? found.local : found.cluster,
    insideBackends: [],
    without: isLocal && found.any ? 'drop' : 'reject',
    allowedSources: undefined,
    isClusterIP: true,
  };
}

function externalFrontend(
  service: Service,
  ip: string | undefined,
  port: number,
  base: Base,
  found: SelectedEndpoints,
): Frontend {
  const isLocal = service.spec.externalTrafficPolicy === 'Local';
  return {
    ...base,
    ip,
    port,
    source: isLocal ? 'local' : 'external',
    backends: isLocal ? found.local : found.cluster,
    insideBackends: isLocal ? found.cluster : [],
    without: isLocal && found.any ? 'drop' : 'reject',
    allowedSources: undefined,
    isClusterIP: false,
  };
}

interface FoundPort {
  readonly port: ServicePort;
  readonly base: Base;
  readonly found: SelectedEndpoints;
}

function portsOf(service: Service, slices: readonly EndpointSlice[], node: NodeView): (() => FoundPort)[] {
  return (service.spec.ports ?? []).flatMap((port) => {
    const protocol = protocolOf(port);
    if (protocol === undefined) return [];
    const base = {
      protocol,
      affinitySeconds: affinityOf(service),
      portName: `${port.name ?? ''}/${protocol}`,
    };
    let made: FoundPort | undefined;
    return [() => (made ??= { port, base, found: selectEndpoints(port, slices, node) })];
  });
}

/** One after the other, what a cluster needs most first: nobody makes the last of them if there are too many. */
function* frontendsOf(
  service: Service,
  slices: readonly EndpointSlice[],
  node: NodeView,
): Generator<Frontend, void, void> {
  const { spec } = service;
  const ports = portsOf(service, slices, node);
  const clusterIPs = (spec.clusterIPs?.length ?? 0) > 0 ? spec.clusterIPs! : [spec.clusterIP!];
  for (const ip of clusterIPs)
    if (parseIpv4(ip) !== undefined)
      for (const one of ports) yield clusterFrontend(service, ip, one().port.port, one().base, one().found);
  if (spec.type === 'NodePort' || spec.type === 'LoadBalancer')
    for (const one of ports) {
      const { port, base, found } = one();
      if ((port.nodePort ?? 0) > 0) yield externalFrontend(service, undefined, port.nodePort!, base, found);
    }
  const sources = allowedSources(service);
  for (const ip of ingressIPs(service))
    for (const one of ports) {
      const { port, base, found } = one();
      if (isClaimable(ip, port.port, node))
        yield { ...externalFrontend(service, ip, port.port, base, found), allowedSources: sources };
    }
  for (const ip of spec.externalIPs ?? [])
    for (const one of ports) {
      const { port, base, found } = one();
      if (isClaimable(ip, port.port, node)) yield externalFrontend(service, ip, port.port, base, found);
    }
}

/**
 * Elements that one Service may have on a node: ports times addresses times endpoints. What one user writes in a hundred
 * kilobytes would be millions, and a node that makes them is not heard of any more.
 */
const mostElements = 50_000;

/** What a frontend costs a node. */
export const elementsOf = ({ backends, insideBackends, allowedSources: sources }: Frontend): number =>
  1 + backends.length + insideBackends.length + (sources?.length ?? 0);

export function desiredRules(
  service: Service,
  slices: readonly EndpointSlice[],
  node: NodeView,
): ServiceRules {
  const key = `${service.metadata.namespace}/${service.metadata.name}`;
  if (!isProxied(service)) return { service: key, frontends: [] };
  const frontends: Frontend[] = [];
  let elements = 0;
  for (const frontend of frontendsOf(service, slices, node)) {
    elements += elementsOf(frontend);
    if (elements > mostElements) return { service: key, frontends, isCut: true };
    frontends.push(frontend);
  }
  return { service: key, frontends };
}
