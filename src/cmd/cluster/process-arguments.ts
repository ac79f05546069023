// The command lines of a cluster's own processes: what `up` starts is what a user could start by hand.
import { formatGoDuration } from '../../base/go-duration.ts';
import { cidrOf, formatCidr, ipAt, parseCidr } from '../../base/ip.ts';
import { localEvictionHard } from '../../kubelet/eviction/thresholds.ts';
import { memoryFloors } from '../../kubelet/node-os/memory-floors.ts';
import { clusterDnsAddress, clusterDomain, serviceCidr } from '../compose/cluster-addresses.ts';
import type { ClusterPaths, NodeRecord, RuntimeKind } from './cluster-state.ts';
import { argumentsOf, type ExtraFlag } from './extra-config.ts';

export interface ServerArguments {
  readonly paths: ClusterPaths;
  /** The machine's address on the fabric. */
  readonly gateway: string;
  /** The cluster's id, of which the fabric's names are made; undefined when all nodes are on the loopback address. */
  readonly fabric: string | undefined;
  readonly port: number;
  /** Asked for by the user: one more address, or all. */
  readonly bindAddress: string | undefined;
  readonly quotaBackendBytes: number | undefined;
  readonly nodeMonitorGracePeriodMs: number | undefined;
  /** Undefined when all nodes are on the loopback address. */
  readonly dnsPort: number | undefined;
  readonly topology: string;
  readonly clusterCidr: string;
  /** False: Services of type LoadBalancer get their addresses from somebody else. */
  readonly loadBalancer: boolean | undefined;
  /** Said by the user, and none of those that are here. */
  readonly extraConfig: readonly ExtraFlag[] | undefined;
}

/** Of documents' addresses (RFC 5737): charts wait for one, and of pods that only seem to run nobody answers anyway. */
const nobodysRange = '203.0.113.0/24';

/** The upper half of the nodes' network, whose lower half nodes take first. */
function loadBalancerRange(gateway: string | undefined): string {
  if (gateway === undefined) return nobodysRange;
  const network = parseCidr(`${gateway}/24`)!;
  return formatCidr(cidrOf(ipAt(network, 128)!, 25));
}

export function serverArguments({
  paths,
  gateway,
  fabric,
  bindAddress,
  quotaBackendBytes,
  nodeMonitorGracePeriodMs,
  port,
  dnsPort,
  topology,
  clusterCidr,
  loadBalancer,
  extraConfig,
}: ServerArguments): string[] {
  return [
    'server',
    '--data-dir',
    paths.server,
    '--secure-port',
    String(port),
    ...(bindAddress === undefined ? [] : ['--bind-address', bindAddress]),
    ...(quotaBackendBytes === undefined ? [] : ['--quota-backend-bytes', String(quotaBackendBytes)]),
    ...(nodeMonitorGracePeriodMs === undefined
      ? []
      : ['--node-monitor-grace-period', formatGoDuration(nodeMonitorGracePeriodMs)]),
    ...(dnsPort === undefined ? [] : ['--dns-port', String(dnsPort)]),
    '--advertise-address',
    gateway,
    '--service-cluster-ip-range',
    serviceCidr,
    '--cluster-cidr',
    clusterCidr,
    '--cluster-dns',
    clusterDnsAddress,
    '--cluster-domain',
    clusterDomain,
    '--approve-kubelet-serving',
    '--keep-credentials',
    paths.credentials,
    ...(fabric === undefined ? [] : ['--pod-routes', topology, '--fabric', fabric]),
    ...(loadBalancer === false ? [] : ['--load-balancer-cidr', loadBalancerRange(fabric && gateway)]),
    ...argumentsOf(extraConfig, 'server'),
  ];
}

export interface AgentArguments {
  readonly node: NodeRecord;
  readonly paths: ClusterPaths;
  readonly cache: string;
  /** As the server's. */
  readonly gateway: string;
  readonly fabric: string | undefined;
  readonly runtime: RuntimeKind;
  readonly topology: string;
  readonly clusterCidr: string;
  /** The user's own folder; what the cluster itself says of registries comes before it. */
  readonly registryConfig: string;
  /** Undefined: what suits somebody's own machine. */
  readonly evictionHard: string | undefined;
  /** As the server's. */
  readonly extraConfig: readonly ExtraFlag[] | undefined;
}

export function agentArguments({
  node,
  paths,
  cache,
  gateway,
  fabric,
  runtime,
  topology,
  clusterCidr,
  registryConfig,
  evictionHard,
  extraConfig,
}: AgentArguments): string[] {
  return [
    'agent',
    '--node-name',
    node.name,
    '--node-ip',
    node.ip,
    ...(fabric === undefined ? [] : ['--node-gateway', gateway]),
    '--os',
    node.os,
    ...(node.windowsBuild === undefined ? [] : ['--windows-build', String(node.windowsBuild)]),
    ...(node.windowsTaint === true ? ['--windows-taint'] : []),
    '--data-dir',
    paths.node(node.name),
    '--kubeconfig',
    `${paths.node(node.name)}/agent.kubeconfig`,
    '--cache-dir',
    cache,
    '--runtime',
    runtime,
    '--topology',
    topology,
    '--cluster-cidr',
    clusterCidr,
    '--service-cluster-ip-range',
    serviceCidr,
    '--cluster-dns',
    clusterDnsAddress,
    '--cluster-domain',
    clusterDomain,
    '--registry-config',
    `${paths.certs}:${registryConfig}`,
    '--eviction-hard',
    evictionHard ?? localEvictionHard(memoryFloors[node.os]),
    // Simulated nodes share the loopback address, so each takes a port that is free.
    '--port',
    runtime === 'simulated' ? '0' : '10250',
    ...argumentsOf(extraConfig, 'agent'),
  ];
}
