// The network half of an agent: CNI for containerd, routes to other nodes' pods, Services.
import { nodes } from '../../api/generated/resources.ts';
import { createInformerFactory } from '../../client/cache/informer-factory.ts';
import type { Client } from '../../client/client.ts';
import type { Logger } from '../../component-base/logger.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { startNodeNetwork as startPodNetwork } from '../../network/node-network.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { linuxNetworkHost } from '../../os/linux/network-host-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { startProxy } from '../../proxy/proxier.ts';

export interface NodeNetworkOptions {
  /** May read nodes, services and endpoint slices. */
  readonly client: Client;
  readonly nodeName: string;
  readonly os: 'linux' | 'windows';
  readonly topology: string;
  readonly clusterCIDR: string;
  readonly serviceCIDR: string;
  readonly cni: {
    readonly client: string;
    readonly dir: string;
    readonly binDir: string;
    readonly confDir: string;
  };
  readonly log: Logger;
}

export interface NodeNetwork {
  stop(): Promise<void>;
}

/** Returns at once; containerd reports the network as ready when this node's pod CIDR is there. */
export async function startNodeNetwork(options: NodeNetworkOptions): Promise<NodeNetwork> {
  const { client, nodeName, log, clusterCIDR, serviceCIDR } = options;
  const informers = createInformerFactory({ client, clock: systemClock, random: systemRandom, log });
  const host = linuxNetworkHost(linuxProcesses);
  const { packetFilter } = host;
  const network = await startPodNetwork({
    nodeName,
    os: options.os,
    nodes: informers.informer(nodes),
    topology: options.topology,
    clusterCIDR,
    serviceCIDR,
    dataDir: options.cni.dir,
    cniClient: options.cni.client,
    cniBinDir: options.cni.binDir,
    cniConfDir: options.cni.confDir,
    host,
    files: linuxFiles,
    clock: systemClock,
    log,
  });
  const proxy = startProxy({ informers, nodeName, clusterCIDR, packetFilter, clock: systemClock, log });
  informers.start();
  return {
    stop: async () => {
      await proxy.stop();
      await network.stop();
      await informers.stop();
      await packetFilter.close();
    },
  };
}
