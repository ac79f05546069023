// What a topology is: facts about it, and a pure function from the cluster's nodes to one machine's plan.
import type { NetworkPlan } from './network-plan.ts';

export type TopologyName = 'host-gateway';

export interface TopologyFacts {
  readonly encapsulation: 'none' | 'vxlan' | 'geneve';
  readonly mtuOverheadBytes: number;
  /** Nodes must share a subnet. */
  readonly needsSameL2: boolean;
  /** A router outside the cluster must know the pod CIDRs. */
  readonly needsRouterPeer: boolean;
  readonly windows: boolean;
}

export interface NetworkNode {
  readonly name: string;
  readonly os: 'linux' | 'windows';
  readonly internalIP: string | undefined;
  readonly podCIDR: string | undefined;
  /** When it joined, RFC 3339. */
  readonly registered: string;
}

export interface NetworkView {
  /** Their prefixes are believed: inside the cluster's, and no two overlap. */
  readonly nodes: readonly NetworkNode[];
  /** All pod addresses of the cluster. */
  readonly clusterCIDR: string;
  readonly serviceCIDR: string;
  /** Prefixes this machine is connected to: a next hop must lie in one. */
  readonly connected: readonly string[];
  /** Prefixes that see pods by their own address, besides those of the cluster. */
  readonly masqueradeExceptions: readonly string[];
}

export interface Topology {
  readonly name: TopologyName;
  readonly facts: TopologyFacts;
  /** `self` undefined: a machine that is no node but reaches the pods, as the API server's. */
  plan(view: NetworkView, self: string | undefined): NetworkPlan;
}
