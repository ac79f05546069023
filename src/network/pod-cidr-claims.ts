// Whose pod prefix a machine believes: inside the cluster's, and nobody else's. A route follows from it, so that a
// prefix which is too wide or another node's would lead the others' traffic to whoever claims it.
import { type Ipv4Cidr, ipv4CidrsOverlap, parseIpv4Cidr } from '../base/ipv4.ts';
import type { NetworkNode } from './topology.ts';

export interface BelievedNodes {
  /** The nodes as they came; those whose prefix is refused have none. */
  readonly nodes: readonly NetworkNode[];
  /** One sentence for each prefix that is refused. */
  readonly problems: readonly string[];
}

const within = (inner: Ipv4Cidr, outer: Ipv4Cidr): boolean =>
  inner.bits >= outer.bits && ipv4CidrsOverlap(inner, outer);

/** Of two that overlap, the node that is longer in the cluster keeps its prefix. */
export function believedNodes(nodes: readonly NetworkNode[], clusterCIDR: string): BelievedNodes {
  const cluster = parseIpv4Cidr(clusterCIDR);
  if (cluster === undefined) throw new Error(`cluster CIDR ${clusterCIDR} is not an IPv4 prefix`);
  const taken: { readonly cidr: Ipv4Cidr; readonly by: NetworkNode }[] = [];
  const refused = new Map<NetworkNode, string>();
  const byAge = [...nodes].sort(
    (a, b) => a.registered.localeCompare(b.registered) || a.name.localeCompare(b.name),
  );
  for (const node of byAge) {
    if (node.podCIDR === undefined) continue;
    const cidr = parseIpv4Cidr(node.podCIDR);
    const about = `node ${node.name} has podCIDR ${node.podCIDR}`;
    if (cidr === undefined) refused.set(node, `${about}, which is not an IPv4 prefix`);
    else if (!within(cidr, cluster))
      refused.set(node, `${about}, which is not inside the cluster's ${clusterCIDR}`);
    else {
      const other = taken.find((claim) => ipv4CidrsOverlap(claim.cidr, cidr))?.by;
      if (other === undefined) taken.push({ cidr, by: node });
      else refused.set(node, `${about}, which overlaps ${other.podCIDR} of node ${other.name}`);
    }
  }
  return {
    nodes: nodes.map((node) => (refused.has(node) ? { ...node, podCIDR: undefined } : node)),
    problems: [...refused.values()],
  };
}
