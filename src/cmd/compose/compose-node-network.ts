// The network half of an agent: CNI for containerd, routes to other nodes' pods, Services.
import { nodes } from '../../api/generated/resources.ts';
import type { Client } from '../../client/client.ts';
import { createInformerFactory } from '../../client/cache/informer-factory.ts';
import type { Logger } from '../../component-base/logger.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { installCni, startCniDaemon } from '../../network/cni/cni-daemon.ts';
import { startNetworkAgent } from '../../network/network-agent.ts';
import { topologyByName } from '../../network/topologies/registry.ts';
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
  readonly cni: { readonly client: string; readonly dir: string; readonly binDir: string; readonly confDir: string };
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
  const daemon = await startCniDaemon({ host, files: linuxFiles, log, dataDir: options.cni.dir, os: options.os });
  let installed: Promise<void> = Promise.resolve();
  const agent = startNetworkAgent({
    nodes: informers.informer(nodes),
    topology: topologyByName(options.topology),
    nodeName,
    clusterCIDR,
    serviceCIDR,
    links: host.links,
    packetFilter,
    sysctl: host.sysctl,
    clock: systemClock,
    log,
    onPodCIDR: (cidr) => {
      installed = installed.then(async () => {
        daemon.plugin.setPodCIDR(cidr);
        await installCni(linuxFiles, { client: options.cni.client, binDir: options.cni.binDir, confDir: options.cni.confDir, socketPath: daemon.socketPath });
        log.info({ cidr }, 'pod network is ready');
      }).catch((error: unknown) => log.error({ error, cidr }, 'could not install the pod network'));
    },
  });
  const proxy = startProxy({ informers, nodeName, clusterCIDR, packetFilter, clock: systemClock, log });
  informers.start();
  return {
    stop: async () => {
      await proxy.stop();
      await agent.stop();
      await informers.stop();
      await installed;
      await daemon.close();
      await packetFilter.close();
    },
  };
}
