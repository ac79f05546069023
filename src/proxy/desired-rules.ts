// Services and EndpointSlices to the rules of this node: pure.
import type { Service, ServicePort } from '../api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../api/generated/types/discovery-v1.ts';
import { type Cidr, cidrContains, formatCidr, isWithin, parseCidr } from '../base/ip.ts';
import type { Steps } from '../base/turns.ts';
import {
  candidatesFor,
  type EndpointsByPort,
  endpointsByPort,
  type NodeView,
  type SelectedEndpoints,
  selectEndpoints,
  servable,
  servedIp,
} from './endpoint-selection.ts';
import { Pace } from './pace.ts';
import { elementCount, type Frontend, type Protocol, type ServiceRules } from './rule-set.ts';

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

/**
 * A user of one namespace may write any address: those by which the cluster itself works are not to be had. Each is judged
 * once: tens of thousands of addresses times thousands of ports would keep a node busy for ever.
 */
function claimable(ips: readonly string[], node: NodeView): string[] {
  return [...new Set(ips)].filter((ip) => {
    const value = servable(ip);
    return value !== undefined && !node.reserved.some((cidr) => cidrContains(cidr, value));
  });
}

/** Ranges of the other family alone let nobody in: kube-proxy lets everybody in then, which nobody who wrote a range can want. */
function allowedSources(service: Service): readonly string[] | undefined {
  const ranges = service.spec.loadBalancerSourceRanges ?? [];
  const valid = ranges.flatMap((range) => parseCidr(range.trim()) ?? []).filter(({ family }) => family === 4);
  if (ranges.length === 0 || valid.some(({ bits }) => bits === 0)) return undefined;
  return withoutContained(valid).map(formatCidr);
}

/** The kernel refuses a set with one range in another, and with it all that is written at once. */
function withoutContained(ranges: readonly Cidr[]): Cidr[] {
  const sorted = [...ranges].sort((a, b) =>
    a.first === b.first ? a.bits - b.bits : a.first < b.first ? -1 : 1,
  );
  const kept: Cidr[] = [];
  for (const range of sorted) {
    const last = kept.at(-1);
    if (last === undefined || !isWithin(range, last)) kept.push(range);
  }
  return kept;
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

/** So much and no more: what is taken beyond it is refused, and so is all that is asked for later. */
class Allowance {
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  get isSpent(): boolean {
    return this.#left < 0;
  }

  take(count: number): boolean {
    if (!this.isSpent) this.#left -= count;
    return !this.isSpent;
  }
}

/** Each port with its endpoints, looked for when it is first its turn, as far as the allowance goes. */
class Ports implements Iterable<FoundPort> {
  readonly #service: Service;
  readonly #ports: readonly ServicePort[];
  readonly #byPort: EndpointsByPort;
  readonly #looks: Allowance;
  readonly #pace: Pace;
  readonly #made: FoundPort[] = [];

  constructor(
    service: Service,
    slices: readonly EndpointSlice[],
    node: NodeView,
    looks: Allowance,
    pace: Pace,
  ) {
    this.#service = service;
    this.#ports = (service.spec.ports ?? []).filter((port) => protocolOf(port) !== undefined);
    this.#byPort = endpointsByPort(slices, node);
    this.#looks = looks;
    this.#pace = pace;
  }

  *[Symbol.iterator](): Generator<FoundPort, void, void> {
    for (const [i, port] of this.#ports.entries()) {
      if (this.#made[i] === undefined) {
        const looks = 1 + candidatesFor(port, this.#byPort);
        if (!this.#looks.take(looks)) return;
        this.#pace.did(looks);
        this.#made[i] = this.#make(port);
      }
      yield this.#made[i];
    }
  }

  /** Those that addresses from outside may have. */
  *claimable(): Generator<FoundPort, void, void> {
    for (const one of this) if (one.port.port !== kubeletPort) yield one;
  }

  #make(port: ServicePort): FoundPort {
    const protocol = protocolOf(port)!;
    const base = {
      protocol,
      affinitySeconds: affinityOf(this.#service),
      portName: `${port.name ?? ''}/${protocol}`,
    };
    return { port, base, found: selectEndpoints(port, this.#byPort) };
  }
}

/** One after the other, what a cluster needs most first: nobody makes the last of them if there are too many. */
function* frontendsOf(service: Service, ports: Ports, node: NodeView): Generator<Frontend, void, void> {
  const { spec } = service;
  const clusterIPs = (spec.clusterIPs?.length ?? 0) > 0 ? spec.clusterIPs! : [spec.clusterIP!];
  for (const ip of clusterIPs.filter((one) => servedIp(one) !== undefined))
    for (const { port, base, found } of ports) yield clusterFrontend(service, ip, port.port, base, found);
  if (spec.type === 'NodePort' || spec.type === 'LoadBalancer')
    for (const { port, base, found } of ports)
      if ((port.nodePort ?? 0) > 0) yield externalFrontend(service, undefined, port.nodePort!, base, found);
  const sources = allowedSources(service);
  for (const ip of claimable(ingressIPs(service), node))
    for (const { port, base, found } of ports.claimable())
      yield { ...externalFrontend(service, ip, port.port, base, found), allowedSources: sources };
  for (const ip of claimable(spec.externalIPs ?? [], node))
    for (const { port, base, found } of ports.claimable())
      yield externalFrontend(service, ip, port.port, base, found);
}

/**
 * Elements that one Service may have on a node: ports times addresses times endpoints. What one user writes in a hundred
 * kilobytes would be millions, and a node that makes them is not heard of any more.
 */
const mostElements = 50_000;
/** Endpoints that are looked at for its ports, whether or not they become elements: some 100 ms. */
const mostLooks = 200_000;

export function* desiredRules(
  service: Service,
  slices: readonly EndpointSlice[],
  node: NodeView,
): Steps<ServiceRules> {
  const key = `${service.metadata.namespace}/${service.metadata.name}`;
  if (!isProxied(service)) return { service: key, frontends: [] };
  const looks = new Allowance(mostLooks);
  const elements = new Allowance(mostElements);
  const frontends: Frontend[] = [];
  const pace = new Pace();
  for (const frontend of frontendsOf(service, new Ports(service, slices, node, looks, pace), node)) {
    if (!elements.take(elementCount(frontend))) break;
    frontends.push(frontend);
    if (pace.over(elementCount(frontend))) yield;
  }
  return looks.isSpent || elements.isSpent
    ? { service: key, frontends, isCut: true }
    : { service: key, frontends };
}
