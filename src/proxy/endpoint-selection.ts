// Which endpoints of a service port this node sends traffic to, as kube-proxy's CategorizeEndpoints decides: pure.
import type { ServicePort } from '../api/generated/types/core-v1.ts';
import type { Endpoint, EndpointSlice } from '../api/generated/types/discovery-v1.ts';
import { type Ipv4Cidr, ipv4CidrContains, parseIpv4, parseIpv4Cidr } from '../base/ipv4.ts';
import type { Backend } from './rule-set.ts';

export interface NodeView {
  readonly name: string;
  /** Its label topology.kubernetes.io/zone. */
  readonly zone: string | undefined;
  /** Where no Service may lead packets away by an external address: pods, ClusterIPs, the API server. */
  readonly reserved: readonly Ipv4Cidr[];
}

export interface SelectedEndpoints {
  readonly cluster: readonly Backend[];
  readonly local: readonly Backend[];
  /** Somewhere, for someone: a node without its own drops instead of refusing. */
  readonly any: boolean;
}

interface Candidate extends Backend {
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly zones: readonly string[] | undefined;
  readonly nodes: readonly string[] | undefined;
}

const special = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/3'].map(
  (cidr) => parseIpv4Cidr(cidr)!,
);

/** Loopback, link-local, multicast and the like: what every node has for itself. No Service takes it or leads to it. */
export const isSpecial = (ip: number): boolean => special.some((cidr) => ipv4CidrContains(cidr, ip));

function candidate(endpoint: Endpoint, ip: string, port: number, node: NodeView): Candidate {
  const ready = endpoint.conditions?.ready ?? true;
  return {
    ip,
    port,
    local: endpoint.nodeName === node.name,
    ready,
    serving: endpoint.conditions?.serving ?? ready,
    terminating: endpoint.conditions?.terminating ?? false,
    zones: endpoint.hints?.forZones?.map((zone) => zone.name),
    nodes: endpoint.hints?.forNodes?.map((one) => one.name),
  };
}

function candidatesOf(port: ServicePort, slices: readonly EndpointSlice[], node: NodeView): Candidate[] {
  const found = new Map<string, Candidate>();
  for (const slice of slices) {
    if (slice.addressType !== 'IPv4') continue;
    for (const slicePort of slice.ports ?? []) {
      if ((slicePort.name ?? '') !== (port.name ?? '') || slicePort.port === undefined) continue;
      if ((slicePort.protocol ?? 'TCP') !== (port.protocol ?? 'TCP')) continue;
      for (const endpoint of slice.endpoints ?? []) {
        const ip = endpoint.addresses[0];
        const value = parseIpv4(ip ?? '');
        if (ip === undefined || value === undefined || isSpecial(value)) continue;
        const one = candidate(endpoint, ip, slicePort.port, node);
        const key = `${ip}:${slicePort.port}`;
        // two slices may hold one endpoint while it moves: the ready one counts
        if (found.get(key)?.ready !== true) found.set(key, one);
      }
    }
  }
  return [...found.values()].sort((a, b) => (a.ip === b.ip ? a.port - b.port : a.ip < b.ip ? -1 : 1));
}

/** Ready ones; when there are none, those that end but still serve. */
function usable(candidates: readonly Candidate[]): readonly Candidate[] {
  const ready = candidates.filter((one) => one.ready);
  return ready.length > 0 ? ready : candidates.filter((one) => one.serving && one.terminating);
}

/** Hints count only when every ready endpoint has them and some are for us. */
function hinted(candidates: readonly Candidate[], node: NodeView): readonly Candidate[] {
  const ready = candidates.filter((one) => one.ready);
  if (ready.length === 0) return candidates;
  if (ready.every((one) => (one.nodes?.length ?? 0) > 0)) {
    const forNode = ready.filter((one) => one.nodes!.includes(node.name));
    if (forNode.length > 0) return forNode;
  }
  const { zone } = node;
  if (zone === undefined || !ready.every((one) => (one.zones?.length ?? 0) > 0)) return candidates;
  const forZone = ready.filter((one) => one.zones!.includes(zone));
  return forZone.length > 0 ? forZone : candidates;
}

const plain = ({ ip, port, local }: Candidate): Backend => ({ ip, port, local });

export function selectEndpoints(
  port: ServicePort,
  slices: readonly EndpointSlice[],
  node: NodeView,
): SelectedEndpoints {
  const candidates = candidatesOf(port, slices, node);
  const cluster = usable(hinted(candidates, node)).map(plain);
  const local = usable(candidates.filter((one) => one.local)).map(plain);
  return { cluster, local, any: cluster.length > 0 || local.length > 0 };
}
