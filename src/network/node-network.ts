// All of a node's pod network in one: the CNI daemon, its installation for containerd, and the network agent.
import type { Node } from '../api/generated/types/core-v1.ts';
import type { Clock } from '../base/clock.ts';
import type { Informer } from '../client/cache/informer.ts';
import type { Logger } from '../component-base/logger.ts';
import type { Files } from '../os/files.ts';
import type { KeptTables } from '../os/kept-tables.ts';
import type { NetworkHost } from '../os/network-host.ts';
import { type CniDaemon, installCni, startCniDaemon } from './cni/cni-daemon.ts';
import { cniTables } from './cni/cni-plugin.ts';
import { forwardingSettings } from './fabric-plan.ts';
import { flowSettings } from './flow-shares.ts';
import { keepFlowShares } from './keep-flow-shares.ts';
import { type NetworkAgent, startNetworkAgent } from './network-agent.ts';
import { topologyByName } from './topologies/registry.ts';
import type { Uplink } from './uplink.ts';

export interface NodeNetworkOptions {
  readonly nodeName: string;
  /** Of the node: an emulated Windows node shows its pods what HNS would. */
  readonly os: 'linux' | 'windows';
  readonly uplink: Uplink;
  readonly nodes: Informer<Node>;
  readonly topology: string;
  readonly clusterCIDR: string;
  readonly serviceCIDR: string;
  readonly masqueradeExceptions?: readonly string[];
  /** Of routes and settings. Default 30,000. */
  readonly syncPeriodMs?: number;
  readonly dataDir: string;
  /** Of the CNI daemon. Default below `dataDir`, which is then at most 90 bytes long. */
  readonly cniSocket?: string;
  /** The compiled native/cni-client.c. */
  readonly cniClient: string;
  /** containerd's plugins."io.containerd.grpc.v1.cri".cni.bin_dir and conf_dir. */
  readonly cniBinDir: string;
  readonly cniConfDir: string;
  /** Of the node's own namespace. */
  readonly host: NetworkHost;
  readonly tables: KeptTables;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface NodeNetwork {
  readonly cni: CniDaemon;
  readonly agent: NetworkAgent;
  /** The node has its podCIDR, routes are in place and containerd can make pods. */
  ready(signal?: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

/** Besides the agent's. The result ends it. */
async function keepOwnTables(options: NodeNetworkOptions, { plugin }: CniDaemon): Promise<() => void> {
  const forgetPods = options.tables.keep({
    written: () => cniTables,
    writeAnew: () => plugin.writeTables(),
  });
  const forgetShares = await keepFlowShares(options);
  return () => {
    forgetPods();
    forgetShares();
  };
}

/**
 * containerd sees the configuration, and with it reports
 * NetworkReady, only after the first plan was applied.
 */
export async function startNodeNetwork(options: NodeNetworkOptions): Promise<NodeNetwork> {
  const { clock, dataDir, files, host, log } = options;
  const topology = topologyByName(options.topology);
  const cni = await startCniDaemon({
    host,
    files,
    log,
    dataDir,
    ...(options.cniSocket === undefined ? {} : { socketPath: options.cniSocket }),
    os: options.os,
    mtu: 1500 - topology.facts.mtuOverheadBytes,
  });
  const forgetTables = await keepOwnTables(options, cni);
  const agent = startNetworkAgent({
    nodes: options.nodes,
    topology,
    nodeName: options.nodeName,
    uplink: options.uplink,
    settings: { ...forwardingSettings, ...flowSettings },
    clusterCIDR: options.clusterCIDR,
    serviceCIDR: options.serviceCIDR,
    masqueradeExceptions: options.masqueradeExceptions ?? [],
    links: host.links,
    packetFilter: host.packetFilter,
    tables: options.tables,
    sysctl: host.sysctl,
    clock,
    log,
    ...(options.syncPeriodMs === undefined ? {} : { resyncMs: options.syncPeriodMs }),
    onPodCIDR: (cidr) => cni.plugin.setPodCIDR(cidr),
    keepCables: (found) => cni.plugin.keepCables(found),
  });
  const installed = agent.ready().then(() =>
    installCni(files, {
      client: options.cniClient,
      binDir: options.cniBinDir,
      confDir: options.cniConfDir,
      socketPath: cni.socketPath,
    }),
  );
  installed.catch((error: unknown) => log.error({ error }, 'the CNI plugin could not be installed'));
  return {
    cni,
    agent,
    ready: async (signal) => {
      await agent.ready(signal);
      await installed;
    },
    stop: async () => {
      forgetTables();
      await agent.stop();
      await cni.close();
    },
  };
}
