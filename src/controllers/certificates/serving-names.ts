// Which names a kubelet's serving certificate may have: nothing counts that only the asker says. Pure.
import type { Node } from '../../api/generated/types/core-v1.ts';
import { cidrContains, comparableIp, parseCidr, parseIp } from '../../base/ip.ts';
import type { RequestFacts } from './signer-rules.ts';

export interface ClusterAddresses {
  readonly nodes: readonly Node[];
  /** Where the API server is reached. */
  readonly servers: readonly string[];
  /** What Services get. */
  readonly services: readonly string[];
}

const ipsOf = (node: Node): string[] =>
  (node.status?.addresses ?? [])
    .filter(({ type }) => type === 'InternalIP' || type === 'ExternalIP')
    .map(({ address }) => comparableIp(address));

const prefixesOf = ({ spec }: Node): readonly string[] => [
  ...(spec?.podCIDRs ?? []),
  ...(spec?.podCIDR === undefined ? [] : [spec.podCIDR]),
];

function within(cidr: string, ip: string): boolean {
  const [range, address] = [parseCidr(cidr), parseIp(ip)];
  return range !== undefined && address !== undefined && cidrContains(range, address);
}

/** Why a certificate of these names is not the node's by right; undefined when it is. */
export function notItsOwn(
  asked: Pick<RequestFacts, 'dnsNames' | 'ips'>,
  name: string,
  cluster: ClusterAddresses,
): string | undefined {
  const foreign = asked.dnsNames.find((dns) => dns !== name);
  if (foreign !== undefined) return `${foreign} is not the node's name`;
  const node = cluster.nodes.find(({ metadata }) => metadata?.name === name);
  if (node === undefined) return `there is no Node ${name}`;
  const own = ipsOf(node);
  for (const ip of asked.ips.map(comparableIp)) {
    if (!own.includes(ip)) return `Node ${name} does not have ${ip}`;
    const other = cluster.nodes.find((n) => n !== node && ipsOf(n).includes(ip));
    if (other !== undefined) return `Node ${other.metadata?.name} has ${ip}, too`;
    if (cluster.servers.map(comparableIp).includes(ip)) return `${ip} is the API server's`;
    if (cluster.services.some((cidr) => within(cidr, ip))) return `${ip} is for Services`;
    if (cluster.nodes.some((n) => prefixesOf(n).some((cidr) => within(cidr, ip)))) return `${ip} is for pods`;
  }
  return undefined;
}
