// Routes from a machine that is no node to the cluster's pods: for the API server's machine, whose proxies, webhooks
// and DNS answers go to pods directly. And which pods are heard on which node's cable.
import type { Node, Service } from '../api/generated/types/core-v1.ts';
import type { Clock } from '../base/clock.ts';
import type { Informer } from '../client/cache/informer.ts';
import type { Logger } from '../component-base/logger.ts';
import type { KeptTables } from '../os/kept-tables.ts';
import type { NetworkHost } from '../os/network-host.ts';
import { announcedAddresses, renderAnnounced, renderPodSources } from './cable-guard.ts';
import { bridgeName, machineSettings } from './fabric-plan.ts';
import { watchFabricTables } from './fabric-tables.ts';
import { type NetworkAgent, startNetworkAgent } from './network-agent.ts';
import { topologyByName } from './topologies/registry.ts';
import type { NetworkNode } from './topology.ts';

export interface PodRouterOptions {
  readonly nodes: Informer<Node>;
  readonly services: Informer<Service>;
  readonly topology: string;
  /** The fabric's: other clusters of the machine have theirs. */
  readonly clusterName: string;
  readonly clusterCIDR: string;
  readonly serviceCIDR: string;
  readonly host: NetworkHost;
  readonly tables: KeptTables;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What of Services the cables' guard knows: nothing else of them matters here. */
const announces = (service: Service): string => announcedAddresses(service).join();

/** Its routes and sets stay when it stops, so that a restart of the server cuts no connection; they go with the fabric. */
export function startPodRouter(options: PodRouterOptions): NetworkAgent {
  const { clusterCIDR, clusterName, log, serviceCIDR, services, tables } = options;
  const { links, packetFilter, sysctl } = options.host;
  const bridge = bridgeName(clusterName);
  const fabric = watchFabricTables({
    clusterName,
    packetFilter,
    tables,
    log,
    onWritten: () => agent.refresh(),
  });
  const guard = async (nodes: readonly NetworkNode[], signal: AbortSignal): Promise<void> => {
    await services.synced(signal);
    if (!(await fabric.look())) return;
    const announced = renderAnnounced(clusterName, services.lister.list(), [clusterCIDR, serviceCIDR]);
    await packetFilter.apply(`${renderPodSources(clusterName, nodes)}${announced}`);
  };
  const agent = startNetworkAgent({
    nodes: options.nodes,
    topology: topologyByName(options.topology),
    nodeName: undefined,
    interface: bridge,
    uplink: { interface: bridge },
    clusterCIDR,
    serviceCIDR,
    links,
    packetFilter,
    tables,
    sysctl,
    settings: machineSettings(bridge),
    clock: options.clock,
    log,
    onNodes: guard,
  });
  const removeHandler = services.addHandler({
    added: (service) => announces(service) !== '' && agent.refresh(),
    updated: (old, service) => announces(old) !== announces(service) && agent.refresh(),
    deleted: (service) => announces(service) !== '' && agent.refresh(),
  });
  const stop = async (): Promise<void> => {
    removeHandler();
    fabric.stop();
    await agent.stop();
  };
  return {
    ready: (signal) => agent.ready(signal),
    problems: () => agent.problems(),
    refresh: () => agent.refresh(),
    stop,
  };
}
