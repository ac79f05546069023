// Routes from a machine that is no node to the cluster's pods: for the API server's machine, whose proxies, webhooks
// and DNS answers go to pods directly.
import type { Node } from '../api/generated/types/core-v1.ts';
import type { Clock } from '../base/clock.ts';
import type { Informer } from '../client/cache/informer.ts';
import type { Logger } from '../component-base/logger.ts';
import type { NetworkHost } from '../os/network-host.ts';
import { type NetworkAgent, startNetworkAgent } from './network-agent.ts';
import { topologyByName } from './topologies/registry.ts';

export interface PodRouterOptions {
  readonly nodes: Informer<Node>;
  readonly topology: string;
  /** The cluster's own bridge on this machine: other clusters of the machine have theirs. */
  readonly bridge: string;
  readonly clusterCIDR: string;
  readonly serviceCIDR: string;
  readonly host: NetworkHost;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Its routes stay when it stops, so that a restart of the server cuts no connection; they go with the bridge. */
export function startPodRouter(options: PodRouterOptions): NetworkAgent {
  const { links, packetFilter, sysctl } = options.host;
  return startNetworkAgent({
    nodes: options.nodes,
    topology: topologyByName(options.topology),
    nodeName: undefined,
    interface: options.bridge,
    clusterCIDR: options.clusterCIDR,
    serviceCIDR: options.serviceCIDR,
    links,
    packetFilter,
    sysctl,
    clock: options.clock,
    log: options.log,
  });
}
