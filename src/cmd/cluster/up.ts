// porthole up: from nothing, or from what a crash left, to a cluster whose nodes are all Ready.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createFabric, type FabricPorts } from '../../network/fabric.ts';
import { withFileLock } from '../../os/file-lock.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { clusterCidr, serviceCidr } from '../compose/cluster-addresses.ts';
import { issueClusterCredentials } from '../compose/cluster-credentials.ts';
import { linuxFabricPorts } from '../compose/compose-fabric.ts';
import type { Progress } from '../progress.ts';
import { linuxNodePackages, missingPackages } from '../setup/system-packages.ts';
import { chooseRuntime } from './choose-runtime.ts';
import { chooseClusterCidr } from './cluster-cidr.ts';
import { planNodes } from './cluster-plan.ts';
import {
  type ClusterPaths,
  type ClusterState,
  clusterNames,
  clusterPaths,
  type NodeRecord,
  type ProcessRecord,
  type RuntimeKind,
  readClusterState,
  writeClusterState,
} from './cluster-state.ts';
import { freePort } from './free-port.ts';
import { isAlive } from './own-processes.ts';
import { prepareMachine } from './prepare-machine.ts';
import { agentArguments, serverArguments } from './process-arguments.ts';
import { spawnSelf } from './spawn-self.ts';
import { waitForNodes, waitForServer } from './wait-ready.ts';

export interface UpOptions {
  readonly name: string;
  readonly linux: number;
  readonly windows: number;
  readonly windowsBuild: number;
  readonly topology: string;
  readonly runtime: 'auto' | RuntimeKind;
  readonly home: string;
  readonly cache: string;
}

export interface UpResult {
  /** URL of the API server. */
  readonly server: string;
  readonly kubeconfig: string;
  readonly state: ClusterState;
}

const isOnPath = (program: string): boolean =>
  missingPackages([{ name: program, provides: program, why: '' }]).length === 0;

function decideRuntime(options: UpOptions, progress: Progress): RuntimeKind {
  const choice = chooseRuntime(options.runtime, {
    platform: process.platform,
    isRoot: process.getuid?.() === 0,
    hasApt: isOnPath('apt-get'),
    missing: missingPackages(linuxNodePackages),
  });
  if ('error' in choice) throw new Error(choice.error);
  progress.say(`  runtime: ${choice.runtime} (${choice.why})`);
  return choice.runtime;
}

async function usedPrefixes({ links }: FabricPorts): Promise<string[]> {
  const [all, routes] = await Promise.all([links.links(), links.routes()]);
  return [...all.flatMap((link) => link.addresses), ...routes.map((route) => route.to)];
}

/** Taken, though their servers may not listen yet. */
const portsOfOtherClusters = ({ home, name }: UpOptions): number[] =>
  clusterNames(home)
    .filter((other) => other !== name)
    .flatMap((other) => readClusterState(clusterPaths(home, other))?.server ?? [])
    .map((url) => Number(new URL(url).port));

const cidrsOfOtherClusters = ({ home, name }: UpOptions): string[] =>
  clusterNames(home)
    .filter((other) => other !== name)
    .flatMap((other) => readClusterState(clusterPaths(home, other))?.clusterCidr ?? []);

/** The namespaces and addresses of the nodes; on a machine without root every node is on the loopback address. */
async function placeNodes(
  options: UpOptions,
  runtime: RuntimeKind,
  known: string | undefined,
): Promise<{ readonly gateway: string; readonly nodes: NodeRecord[]; readonly clusterCidr: string }> {
  const planned = planNodes(options);
  if (runtime === 'simulated')
    return {
      gateway: '127.0.0.1',
      nodes: planned.map((node) => ({ ...node, ip: '127.0.0.1' })),
      clusterCidr: known ?? clusterCidr,
    };
  const ports = linuxFabricPorts(linuxProcesses, linuxFiles);
  try {
    const podCidr =
      known ?? chooseClusterCidr([...(await usedPrefixes(ports)), ...cidrsOfOtherClusters(options)]);
    const fabric = await createFabric(ports, {
      clusterName: options.name,
      nodes: planned,
      avoid: [podCidr, serviceCidr],
    });
    const placed = new Map(fabric.nodes.map((node) => [node.name, node]));
    const nodes = planned.map((node) => ({
      ...node,
      ip: placed.get(node.name)!.address,
      netns: placed.get(node.name)!.netnsPath,
    }));
    return { gateway: fabric.gateway, nodes, clusterCidr: podCidr };
  } finally {
    await ports.packetFilter.close();
  }
}

interface Placed {
  readonly gateway: string;
  readonly port: number;
  readonly state: ClusterState;
}

/** The cluster as it is recorded, with the processes that still run. */
function whatRuns(paths: ClusterPaths): ClusterState | undefined {
  const state = readClusterState(paths);
  return state && { ...state, processes: state.processes.filter(isAlive) };
}

function checkSame(state: ClusterState, options: UpOptions): void {
  const wanted = planNodes(options)
    .map((node) => `${node.name} ${node.windowsBuild ?? ''}`)
    .join(', ');
  const has = state.nodes.map((node) => `${node.name} ${node.windowsBuild ?? ''}`).join(', ');
  if (wanted === has && (options.runtime === 'auto' || options.runtime === state.runtime)) return;
  throw new Error(
    `cluster ${JSON.stringify(state.name)} is there already, with other nodes (${has.trim()}); take it down first: porthole down --name ${state.name}`,
  );
}

/** Starts what is not running; a cluster that is up already is left as it is. */
export async function up(options: UpOptions, progress: Progress): Promise<UpResult> {
  const paths = clusterPaths(options.home, options.name);
  if (options.linux + options.windows === 0)
    throw new Error('a cluster needs a node: --linux or --windows of at least 1');
  const known = whatRuns(paths);
  if (known) checkSame(known, options);
  const runtime = known?.runtime ?? decideRuntime(options, progress);

  if (runtime === 'containerd') {
    await progress.step('this machine has what it takes', (detail) =>
      prepareMachine({
        processes: linuxProcesses,
        cache: options.cache,
        windowsBuilds: options.windows > 0 ? [options.windowsBuild] : [],
        say: detail,
      }),
    );
  }
  const place = async (): Promise<Placed> => {
    const { gateway, nodes, clusterCidr: podCidr } = await placeNodes(options, runtime, known?.clusterCidr);
    const port = known
      ? Number(new URL(known.server).port)
      : await freePort('0.0.0.0', 6443, portsOfOtherClusters(options));
    const state: ClusterState = {
      name: options.name,
      version: 1,
      runtime,
      topology: options.topology,
      server: `https://127.0.0.1:${port}`,
      clusterCidr: podCidr,
      nodes,
      processes: known?.processes ?? [],
    };
    writeClusterState(paths, state);
    return { gateway, port, state };
  };
  // Addresses and ports are taken by one cluster after the other.
  mkdirSync(options.home, { recursive: true, mode: 0o700 });
  const { gateway, port, ...placed } = await progress.step(
    runtime === 'containerd'
      ? `${options.linux + options.windows} nodes on one network`
      : 'nodes on the loopback address',
    () => withFileLock(linuxProcesses, join(options.home, 'addresses.lock'), place),
  );
  let { state } = placed;
  const { nodes, clusterCidr: podCidr } = state;
  const running = (role: string): boolean => state.processes.some((process) => process.role === role);
  const start = (role: string, args: readonly string[], netnsPath?: string): ProcessRecord => {
    const record = spawnSelf(linuxProcesses, { role, args, logs: paths.logs, netnsPath });
    state = {
      ...state,
      processes: [
        ...state.processes.filter((one) => one.role !== role),
        { role, pid: record.pid, startTicks: record.startTicks },
      ],
    };
    writeClusterState(paths, state);
    return record;
  };
  const logOf = (role: string): string => join(paths.logs, `${role.replaceAll(' ', '-')}.log`);

  await issueClusterCredentials({
    clusterName: options.name,
    serverDir: paths.server,
    localUrl: state.server,
    nodeUrl: `https://${gateway}:${port}`,
    kubeconfig: paths.kubeconfig,
    nodes: nodes.map((node) => ({ ...node, dir: paths.node(node.name) })),
  });
  const startAgents = (): void => {
    for (const node of nodes) {
      const role = `agent ${node.name}`;
      if (!running(role))
        start(
          role,
          agentArguments({
            paths,
            node,
            cache: options.cache,
            runtime,
            topology: options.topology,
            clusterCidr: podCidr,
          }),
          node.netns,
        );
    }
  };
  await progress.step('API server, controllers, scheduler, DNS', async () => {
    if (!running('server'))
      start(
        'server',
        serverArguments({ paths, gateway, port, topology: options.topology, clusterCidr: podCidr }),
      );
    // Agents start beside the server and wait for it: their containerd takes the same time as it does.
    startAgents();
    await waitForServer(
      paths.kubeconfig,
      () => state.processes.find((one) => one.role === 'server'),
      logOf('server'),
    );
  });
  await progress.step(`${nodes.length} ${nodes.length === 1 ? 'node is' : 'nodes are'} Ready`, (detail) =>
    waitForNodes(
      paths.kubeconfig,
      nodes.map((node) => ({
        name: node.name,
        process: state.processes.find((one) => one.role === `agent ${node.name}`)!,
        log: logOf(`agent ${node.name}`),
      })),
      detail,
    ),
  );
  return { server: state.server, kubeconfig: paths.kubeconfig, state };
}
