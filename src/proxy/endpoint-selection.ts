// Which endpoints of a service port this node sends traffic to, as kube-proxy's CategorizeEndpoints decides: pure.
import type { ServicePort } from '../api/generated/types/core-v1.ts';
import type { Endpoint, EndpointSlice } from '../api/generated/types/discovery-v1.ts';
import { type Cidr, cidrContains, type Ip, parseCidr, parseIp } from '../base/ip.ts';
import type { Backend } from './rule-set.ts';

export interface NodeView {
  readonly name: string;
  /** Its label topology.kubernetes.io/zone. */
  readonly zone: string | undefined;
  /** Where no Service may lead packets away by an external address: pods, ClusterIPs, the API server. */
  readonly reserved: readonly Cidr[];
}

export interface SelectedEndpoints {
  readonly cluster: readonly Backend[];
  readonly local: readonly Backend[];
  /** Somewhere, for someone: a node without its own drops instead of refusing. */
  readonly any: boolean;
}

/** An endpoint as this node sees it, whatever the port. */
interface Seen {
  readonly ip: string;
  readonly local: boolean;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly zones: 'none' | 'ours' | 'others';
  readonly nodes: 'none' | 'ours' | 'others';
}

interface Candidate extends Seen {
  readonly port: number;
}

/** By name and protocol of a port: its number and who has it, slice by slice. */
export type EndpointsByPort = ReadonlyMap<string, readonly Served[]>;

interface Served {
  readonly port: number;
  readonly endpoints: readonly Seen[];
}

/** Of the family that the pod network has: IPv6 has no pods yet, so no Services. */
export function servedIp(text: string): Ip | undefined {
  const ip = parseIp(text);
  return ip?.family === 4 ? ip : undefined;
}

const special = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/3'].map((cidr) => parseCidr(cidr)!);

/** Loopback, link-local, multicast and the like: what every node has for itself. No Service takes it or leads to it. */
const isSpecial = (ip: Ip): boolean => special.some((cidr) => cidrContains(cidr, ip));

/** An address to which a Service may lead, or by which it may be reached from outside; undefined for others. */
export function servable(text: string): Ip | undefined {
  const ip = servedIp(text);
  return ip === undefined || isSpecial(ip) ? undefined : ip;
}

function hintOf(
  names: readonly { readonly name: string }[] | undefined,
  own: string | undefined,
): Seen['zones'] {
  if (names === undefined || names.length === 0) return 'none';
  return names.some(({ name }) => name === own) ? 'ours' : 'others';
}

function seen(endpoint: Endpoint, node: NodeView): Seen[] {
  const ip = endpoint.addresses[0];
  if (ip === undefined || servable(ip) === undefined) return [];
  const ready = endpoint.conditions?.ready ?? true;
  const one = {
    ip,
    local: endpoint.nodeName === node.name,
    ready,
    serving: endpoint.conditions?.serving ?? ready,
    terminating: endpoint.conditions?.terminating ?? false,
    zones: hintOf(endpoint.hints?.forZones, node.zone),
    nodes: hintOf(endpoint.hints?.forNodes, node.name),
  };
  return [one];
}

const portKey = ({ name, protocol }: Pick<ServicePort, 'name' | 'protocol'>): string =>
  `${protocol ?? 'TCP'} ${name ?? ''}`;

/** Each slice is read once, not once for each port of the Service. */
export function endpointsByPort(slices: readonly EndpointSlice[], node: NodeView): EndpointsByPort {
  const byPort = new Map<string, Served[]>();
  for (const slice of slices) {
    if (slice.addressType !== 'IPv4') continue;
    const endpoints = (slice.endpoints ?? []).flatMap((endpoint) => seen(endpoint, node));
    for (const port of slice.ports ?? []) {
      if (port.port === undefined) continue;
      const served = byPort.get(portKey(port)) ?? [];
      served.push({ port: port.port, endpoints });
      byPort.set(portKey(port), served);
    }
  }
  return byPort;
}

/** How many endpoints `selectEndpoints` looks at. */
export const candidatesFor = (port: ServicePort, byPort: EndpointsByPort): number =>
  (byPort.get(portKey(port)) ?? []).reduce((sum, { endpoints }) => sum + endpoints.length, 0);

function candidatesOf(served: readonly Served[]): Candidate[] {
  const found = new Map<string, Candidate>();
  for (const { port, endpoints } of served)
    for (const endpoint of endpoints) {
      const key = `${endpoint.ip}:${port}`;
      // two slices may hold one endpoint while it moves: the ready one counts
      if (found.get(key)?.ready !== true) found.set(key, { ...endpoint, port });
    }
  return [...found.values()].sort((a, b) => (a.ip === b.ip ? a.port - b.port : a.ip < b.ip ? -1 : 1));
}

/** Ready ones; when there are none, those that end but still serve. */
function usable(candidates: readonly Candidate[]): readonly Candidate[] {
  const ready = candidates.filter((one) => one.ready);
  return ready.length > 0 ? ready : candidates.filter((one) => one.serving && one.terminating);
}

/** Hints count only when every ready endpoint has them and some are for us. */
function hinted(candidates: readonly Candidate[]): readonly Candidate[] {
  const ready = candidates.filter((one) => one.ready);
  for (const hint of ['nodes', 'zones'] as const) {
    if (!ready.every((one) => one[hint] !== 'none')) continue;
    const forUs = ready.filter((one) => one[hint] === 'ours');
    if (forUs.length > 0) return forUs;
  }
  return candidates;
}

const plain = ({ ip, port, local }: Candidate): Backend => ({ ip, port, local });

export function selectEndpoints(port: ServicePort, byPort: EndpointsByPort): SelectedEndpoints {
  const candidates = candidatesOf(byPort.get(portKey(port)) ?? []);
  const cluster = usable(hinted(candidates)).map(plain);
  const local = usable(candidates.filter((one) => one.local)).map(plain);
  return { cluster, local, any: cluster.length > 0 || local.length > 0 };
}
