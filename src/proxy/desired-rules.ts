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

/** A user of one namespace may write any address: those by which the cluster itself works are not to be had. */
function isClaimable(ip: string, node: NodeView): boolean {
  const value = parseIpv4(ip);
  return (
    value !== undefined && !isSpecial(value) && !node.reserved.some((cidr) => ipv4CidrContains(cidr, value))
  );
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

function frontendsOfPort(
  service: Service,
  port: ServicePort,
  slices: readonly EndpointSlice[],
  node: NodeView,
): Frontend[] {
  const protocol = protocolOf(port);
  if (protocol === undefined) return [];
  const { spec } = service;
  const found = selectEndpoints(port, slices, node);
  const base: Base = {
    protocol,
    affinitySeconds: affinityOf(service),
    portName: `${port.name ?? ''}/${protocol}`,
  };
  const isIPv4 = (ip: string): boolean => parseIpv4(ip) !== undefined;
  const clusterIPs = (spec.clusterIPs?.length ?? 0) > 0 ? spec.clusterIPs! : [spec.clusterIP!];
  const frontends = clusterIPs
    .filter(isIPv4)
    .map((ip) => clusterFrontend(service, ip, port.port, base, found));
  const isOurs = (ip: string): boolean => isClaimable(ip, node);
  for (const ip of (spec.externalIPs ?? []).filter(isOurs))
    frontends.push(externalFrontend(service, ip, port.port, base, found));
  for (const ip of ingressIPs(service).filter(isOurs))
    frontends.push({
      ...externalFrontend(service, ip, port.port, base, found),
      allowedSources: allowedSources(service),
    });
  if ((spec.type === 'NodePort' || spec.type === 'LoadBalancer') && (port.nodePort ?? 0) > 0)
    frontends.push(externalFrontend(service, undefined, port.nodePort!, base, found));
  return frontends;
}

export function desiredRules(
  service: Service,
  slices: readonly EndpointSlice[],
  node: NodeView,
): ServiceRules {
  const key = `${service.metadata.namespace}/${service.metadata.name}`;
  if (!isProxied(service)) return { service: key, frontends: [] };
  return {
    service: key,
    frontends: (service.spec.ports ?? []).flatMap((port) => frontendsOfPort(service, port, slices, node)),
  };
}
