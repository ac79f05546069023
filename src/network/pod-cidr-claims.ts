// Whose pod prefix a machine believes: inside the cluster's, and nobody else's. A route follows from it, so that a
// prefix which is too wide or another node's would lead the others' traffic to whoever claims it.
import { type Cidr, cidrsOverlap, isWithin, parseCidr } from '../base/ip.ts';
import type { NetworkNode } from './topology.ts';

export interface BelievedNodes {
  /** The nodes as they came; those whose prefix is refused have none. */
  readonly nodes: readonly NetworkNode[];
  /** One sentence for each prefix that is refused. */
  readonly problems: readonly string[];
}

/** Of two that overlap, the node that is longer in the cluster keeps its prefix. */
export function believedNodes(nodes: readonly NetworkNode[], clusterCIDR: string): BelievedNodes {
  const cluster = parseCidr(clusterCIDR);
  if (cluster === undefined) throw new Error(`cluster CIDR ${clusterCIDR} is not a prefix`);
  const taken: { readonly cidr: Cidr; readonly by: NetworkNode }[] = [];
  const refused = new Map<NetworkNode, string>();
  const byAge = [...nodes].sort(
    (a, b) => a.registered.localeCompare(b.registered) || a.name.localeCompare(b.name),
  );
  for (const node of byAge) {
    if (node.podCIDR === undefined) continue;
    const cidr = parseCidr(node.podCIDR);
    const about = `node ${node.name} has podCIDR ${node.podCIDR}`;
    if (cidr === undefined) refused.set(node, `${about}, which is not a prefix`);
    else if (!isWithin(cidr, cluster))
      refused.set(node, `${about}, which is not inside the cluster's ${clusterCIDR}`);
    else {
      const other = taken.find((claim) => cidrsOverlap(claim.cidr, cidr))?.by;
      if (other === undefined) taken.push({ cidr, by: node });
      else refused.set(node, `${about}, which overlaps ${other.podCIDR} of node ${other.name}`);
    }
  }
  return {
    nodes: nodes.map((node) => (refused.has(node) ? { ...node, podCIDR: undefined } : node)),
    problems: [...refused.values()],
  };
}
