// Gives a cluster its addresses on this machine: port, pod CIDR, and a fabric with a namespace for each node.
import {
  createFabric,
  type Fabric,
  type FabricOptions,
  type FabricPorts,
  gatewayAhead,
} from '../../network/fabric.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { serviceCidr, clusterCidr as usualClusterCidr } from '../compose/cluster-addresses.ts';
import { linuxFabricPorts } from '../compose/compose-fabric.ts';
import { chooseClusterCidr, overlaps } from './cluster-cidr.ts';
import type { PlannedNode } from './cluster-plan.ts';
import type { ClusterState, NodeRecord } from './cluster-state.ts';
import { freePort } from './free-port.ts';
import { type Claim, type Claims, withMachineClaims } from './machine-claims.ts';

const preferredPort = 6443;
const preferredDnsPort = 10053;
/** The one that everybody writes. */
const preferredRegistryPort = 5000;

/** With the address that it had, if it had one. */
export type PlacedNode = PlannedNode & Partial<NodeRecord>;

export interface PlaceCluster {
  readonly home: string;
  readonly nodes: readonly PlacedNode[];
  /** As far as it is known: a cluster that was up before keeps its addresses. */
  readonly state: Pick<ClusterState, 'name' | 'id' | 'runtime'> & {
    readonly clusterCidr?: string | undefined;
    readonly port?: number | undefined;
    readonly dnsPort?: number | undefined;
    readonly serverRuns: boolean;
    readonly registryPort?: number | undefined;
    readonly registryRuns: boolean;
  };
  /** Port of the registry beside the cluster; `true`: any. Undefined: as before. */
  readonly registry: number | true | undefined;
  /** Of the machine, what nodes reach for registries besides it. */
  readonly mirrorPorts: readonly number[];
  /** Pods and nodes reach all that this machine reaches. */
  readonly machineAccess: boolean;
  /** Called before anything is made that only the record leads back to, the claim among it. */
  readonly record: (choice: AddressChoice) => void;
}

type FabricState = Pick<PlaceCluster['state'], 'id' | 'clusterCidr'>;

export interface AddressChoice {
  readonly port: number;
  /** Undefined when the DNS may take any. */
  readonly dnsPort: number | undefined;
  readonly clusterCidr: string;
  readonly registryPort: number | undefined;
}

export interface PlacedCluster extends AddressChoice {
  /** Where nodes and pods reach the API server. */
  readonly gateway: string;
  /** Undefined when all nodes are on the loopback address. */
  readonly fabric: string | undefined;
  /** What this machine can't hold. */
  readonly warnings: readonly string[];
  readonly nodes: readonly NodeRecord[];
}

async function usedPrefixes({ links }: FabricPorts): Promise<string[]> {
  const [all, routes] = await Promise.all([links.links(), links.routes()]);
  return [...all.flatMap((link) => link.addresses), ...routes.map((route) => route.to)];
}

/** The pods' addresses stand in the store: a cluster that comes back has these or none. */
function checkStillFree(known: string, others: readonly Claim[]): void {
  const taken = others.find((other) => other.clusterCidr !== undefined && overlaps(known, other.clusterCidr));
  if (taken !== undefined)
    throw new Error(
      `the pods' addresses ${known} were taken meanwhile by cluster ${taken.name} of ${taken.home}; take that one down first`,
    );
}

async function choosePort(of: PlaceCluster['state'], others: readonly Claim[]): Promise<number> {
  if (of.port !== undefined && of.serverRuns) return of.port;
  const taken = others.map((other) => other.port);
  return freePort('0.0.0.0', of.port ?? preferredPort, taken);
}

/** On the cluster's own address: other clusters are in nobody's way, what listens on all addresses is. */
async function chooseDnsPort(of: PlaceCluster['state']): Promise<number> {
  if (of.dnsPort !== undefined && of.serverRuns) return of.dnsPort;
  return freePort('0.0.0.0', of.dnsPort ?? preferredDnsPort);
}

/** Images are named by it: another one than before would be another registry. */
async function chooseRegistryPort({ registry, state }: PlaceCluster): Promise<number | undefined> {
  if (registry === undefined && state.registryPort === undefined) return undefined;
  if (state.registryPort !== undefined && state.registryRuns) return state.registryPort;
  const wanted = state.registryPort ?? (registry === true ? undefined : registry);
  const port = await freePort('0.0.0.0', wanted ?? preferredRegistryPort);
  if (wanted !== undefined && port !== wanted)
    throw new Error(
      `port ${wanted}, by which images of the cluster's registry are named, is taken on this machine: ss -ltnp 'sport = :${wanted}' says by whom`,
    );
  return port;
}

interface FabricChoice {
  readonly clusterCidr: string;
  readonly fabric: Required<Pick<FabricOptions, 'clusterName' | 'nodes' | 'avoid'>>;
}

/** Of what the machine and its other clusters have now. */
async function chooseFabric(
  ports: FabricPorts,
  { nodes, state }: Pick<PlaceCluster, 'nodes'> & { readonly state: FabricState },
  { others }: Claims,
): Promise<FabricChoice> {
  const reserved = others.flatMap(({ clusterCidr, fabric }) =>
    [clusterCidr, fabric].filter((one) => one !== undefined),
  );
  if (state.clusterCidr !== undefined) checkStillFree(state.clusterCidr, others);
  const clusterCidr = state.clusterCidr ?? chooseClusterCidr([...(await usedPrefixes(ports)), ...reserved]);
  return {
    clusterCidr,
    fabric: {
      clusterName: state.id,
      nodes: nodes.map(({ name, ip }) => ({ name, address: ip || undefined })),
      avoid: [clusterCidr, serviceCidr, ...reserved],
    },
  };
}

/** Where nodes and pods would reach the API server of a cluster on a fabric, if it were placed now. */
export const foreseenGateway = (
  cluster: Pick<PlaceCluster, 'nodes'> & { readonly state: FabricState },
): Promise<string> =>
  withMachineClaims(linuxProcesses, cluster.state, async (claims) => {
    const ports = linuxFabricPorts();
    try {
      return await gatewayAhead(ports, (await chooseFabric(ports, cluster, claims)).fabric);
    } finally {
      await ports.packetFilter.close();
      // Of one that is not there yet nothing is to stay of the question.
      if (cluster.state.clusterCidr === undefined) claims.release();
    }
  });

async function placeOnFabric(options: PlaceCluster, claims: Claims): Promise<PlacedCluster> {
  const { home, nodes, record, state } = options;
  const { id, name } = state;
  const ports = linuxFabricPorts();
  try {
    const chosen = await chooseFabric(ports, options, claims);
    const { clusterCidr } = chosen;
    const port = await choosePort(state, claims.others);
    const dnsPort = await chooseDnsPort(state);
    const registryPort = await chooseRegistryPort(options);
    record({ clusterCidr, port, dnsPort, registryPort });
    claims.keep({ id, home, name, clusterCidr, port });
    const registryPorts = new Set([registryPort, ...options.mirrorPorts].filter((one) => one !== undefined));
    const fabric: Fabric = await createFabric(ports, {
      ...chosen.fabric,
      access: {
        ports: [
          { protocol: 'tcp', port },
          { protocol: 'tcp', port: dnsPort },
          { protocol: 'udp', port: dnsPort },
          ...[...registryPorts].map((open) => ({ protocol: 'tcp' as const, port: open })),
        ],
        everything: options.machineAccess,
      },
    });
    claims.keep({ id, home, name, clusterCidr, port, fabric: fabric.subnet });
    const placed = new Map(fabric.nodes.map((node) => [node.name, node]));
    return {
      port,
      dnsPort,
      clusterCidr,
      registryPort,
      gateway: fabric.gateway,
      fabric: id,
      warnings: fabric.warnings,
      nodes: nodes.map((node) => ({
        ...node,
        ip: placed.get(node.name)!.address,
        netns: placed.get(node.name)!.netnsPath,
      })),
    };
  } finally {
    await ports.packetFilter.close();
  }
}

/** One cluster of the machine after the other. On a machine without root every node is on the loopback address. */
export function placeCluster(options: PlaceCluster): Promise<PlacedCluster> {
  const { home, nodes, record, state } = options;
  const { id, name } = state;
  return withMachineClaims(linuxProcesses, { id }, async (claims) => {
    if (state.runtime === 'containerd') return placeOnFabric(options, claims);
    const port = await choosePort(state, claims.others);
    const clusterCidr = state.clusterCidr ?? usualClusterCidr;
    const choice = { clusterCidr, port, dnsPort: undefined, registryPort: undefined };
    record(choice);
    claims.keep({ id, home, name, port });
    return {
      ...choice,
      gateway: '127.0.0.1',
      fabric: undefined,
      warnings: [],
      nodes: nodes.map((node) => ({ ...node, ip: '127.0.0.1' })),
    };
  });
}
