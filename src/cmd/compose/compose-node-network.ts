// The network half of an agent: CNI for containerd, routes to other nodes' pods, Services.
import { nodes } from '../../api/generated/resources.ts';
import { createInformerFactory } from '../../client/cache/informer-factory.ts';
import type { Client } from '../../client/client.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import type { CniPlugin } from '../../network/cni/cni-plugin.ts';
import { startNodeDns } from '../../network/dns/node-dns.ts';
import { upstreamsOf } from '../../network/dns/resolv-conf.ts';
import { startNodeNetwork } from '../../network/node-network.ts';
import { keepTables } from '../../os/kept-tables.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { ownNetworkHost } from '../../os/linux/network-host-linux.ts';
import { proxyBackends } from '../../proxy/backends/registry.ts';
import { startProxy } from '../../proxy/proxier.ts';
import { resolveIpv4 } from '../../wire/resolve-name.ts';
import { reservedAddresses } from './reserved-addresses.ts';

export interface NodeNetworkOptions {
  /** May read nodes, services and endpoint slices. */
  readonly client: Client;
  readonly nodeName: string;
  readonly os: 'linux' | 'windows';
  /** Its address, and the way to everywhere else if that is ours to keep. */
  readonly uplink: { readonly address: string; readonly gateway?: string };
  readonly topology: string;
  readonly clusterCIDR: string;
  readonly serviceCIDR: string;
  /** Between two looks at whether somebody took what was written. */
  readonly syncPeriodMs: number;
  /** The address or name by which this node calls the API server: no Service takes it. */
  readonly apiServer: string;
  readonly cni: {
    readonly client: string;
    readonly dir: string;
    readonly socket: string;
    readonly binDir: string;
    readonly confDir: string;
  };
  readonly dns: {
    readonly clusterIP: string;
    readonly domain: string;
    /** The machine's resolv.conf. */
    readonly resolvConf: string;
    /** Where DNS keeps what it knows. */
    readonly recordsFile: string;
  };
  readonly metrics: MetricsRegistry;
  readonly log: Logger;
}

export interface NodeNetwork {
  /** Who has an address of this node. */
  readonly cables: Pick<CniPlugin, 'attachments' | 'detach'>;
  stop(): Promise<void>;
}

/** Returns at once; containerd reports the network as ready when this node's pod CIDR is there. */
export async function composeNodeNetwork(options: NodeNetworkOptions): Promise<NodeNetwork> {
  const { client, nodeName, log, clusterCIDR, serviceCIDR, syncPeriodMs } = options;
  const informers = createInformerFactory({ client, clock: systemClock, random: systemRandom, log });
  const host = ownNetworkHost();
  const { packetFilter } = host;
  const tables = keepTables({ packetFilter, clock: systemClock, log, syncPeriodMs });
  const network = await startNodeNetwork({
    nodeName,
    os: options.os,
    uplink: options.uplink,
    nodes: informers.informer(nodes),
    topology: options.topology,
    clusterCIDR,
    serviceCIDR,
    syncPeriodMs,
    dataDir: options.cni.dir,
    cniSocket: options.cni.socket,
    cniClient: options.cni.client,
    cniBinDir: options.cni.binDir,
    cniConfDir: options.cni.confDir,
    host,
    tables,
    files: linuxFiles,
    clock: systemClock,
    log,
  });
  const { clusterIP, domain, recordsFile, resolvConf } = options.dns;
  const upstreams = upstreamsOf(resolvConf, [clusterIP]);
  const reserved = await reservedAddresses({
    apiServer: options.apiServer,
    resolvers: upstreams.map(({ address }) => address),
    resolve: resolveIpv4,
    clock: systemClock,
    log,
  });
  const proxy = startProxy({
    informers,
    nodeName,
    clusterCIDR,
    reservedCIDRs: [serviceCIDR, ...reserved.cidrs],
    backend: proxyBackends.nftables({ packetFilter, tables, clusterCIDR, clock: systemClock, log }),
    clock: systemClock,
    log,
  });
  const unfollow = reserved.follow((cidrs) => proxy.reserve([serviceCIDR, ...cidrs]));
  const dns = startNodeDns({
    informers,
    host,
    tables,
    clusterIP,
    clusterDomain: domain,
    upstreams,
    records: { file: recordsFile, files: linuxFiles },
    metrics: options.metrics,
    clock: systemClock,
    random: systemRandom,
    log: log.child({ part: 'dns' }),
  });
  informers.start();
  return {
    cables: network.cni.plugin,
    stop: async () => {
      unfollow();
      for (const part of [tables, dns, proxy, network, informers]) await part.stop();
      await packetFilter.close();
    },
  };
}
