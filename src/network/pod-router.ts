// Routes from a machine that is no node to the cluster's pods: for the API server's machine, whose proxies, webhooks
// and DNS answers go to pods directly. And which pods are heard on which node's cable.
import type { Node, Service } from '../api/generated/types/core-v1.ts';
import type { Clock } from '../base/clock.ts';
import { inSlices, Slice, Turns } from '../base/turns.ts';
import type { Informer } from '../client/cache/informer.ts';
import type { Logger } from '../component-base/logger.ts';
import type { KeptTables } from '../os/kept-tables.ts';
import type { NetworkHost } from '../os/network-host.ts';
import { Announced, heardOn } from './announced.ts';
import { type BalancerView, balancerRouting } from './balancer-routing.ts';
import { announcedSet, renderPodSources } from './cable-guard.ts';
import { bridgeName, machineSettings } from './fabric-plan.ts';
import { watchFabricTables } from './fabric-tables.ts';
import { type Look, type NetworkAgent, startNetworkAgent } from './network-agent.ts';
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
  /** Addresses of load balancers, to which this machine's routes lead over nodes; undefined: that is others' affair. */
  readonly balancer?: BalancerView | undefined;
  readonly host: NetworkHost;
  readonly tables: KeptTables;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The set of announced addresses is written as a whole this often, in case something else changed it. As Services' rules. */
const wholeMs = 3_600_000;

/** Answers with its end. */
const announce = (services: Informer<Service>, announced: Announced, changed: () => void): (() => void) =>
  services.addHandler({
    added: (service) => announced.change(undefined, service) && changed(),
    updated: (old, service) => announced.change(old, service) && changed(),
    deleted: (service) => announced.change(service, undefined) && changed(),
  });

/** Its routes and sets stay when it stops, so that a restart of the server cuts no connection; they go with the fabric. */
export function startPodRouter(options: PodRouterOptions): NetworkAgent {
  const { clock, clusterCIDR, clusterName, log, serviceCIDR, services, tables } = options;
  const { links, packetFilter, sysctl } = options.host;
  const bridge = bridgeName(clusterName);
  const fabric = watchFabricTables({
    clusterName,
    packetFilter,
    tables,
    log,
    onWritten: () => {
      announced.forget();
      agent.refresh();
    },
  });
  const announced = new Announced();
  const balancer = balancerRouting(options);
  const turns = new Turns((run) => clock.timer(0, run));
  let wholeAt = clock.monotonic();
  const announcedText = async (look: Look): Promise<string> => {
    if (clock.monotonic() - wholeAt >= wholeMs) {
      announced.forget();
      wholeAt = clock.monotonic();
    }
    const heard = heardOn(bridge, look, [clusterCIDR, serviceCIDR]);
    const rule = JSON.stringify([look.routes, look.found.map((link) => link.addresses)]);
    const steps = announced.text(announcedSet(clusterName), heard, rule);
    return inSlices(steps, new Slice(turns, () => clock.monotonic()));
  };
  const guard = async (nodes: readonly NetworkNode[], look: Look, signal: AbortSignal): Promise<void> => {
    await services.synced(signal);
    if (!(await fabric.look())) return announced.forget();
    const text = await announcedText(look);
    await announced.written(() => packetFilter.apply(`${renderPodSources(clusterName, nodes)}${text}`));
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
    clock,
    log,
    moreRoutes: () => balancer.routes(),
    onNodes: guard,
  });
  const removeHandler = announce(services, announced, () => agent.refresh());
  const stopBalancer = balancer.start(() => agent.refresh());
  const stop = async (): Promise<void> => {
    stopBalancer();
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
