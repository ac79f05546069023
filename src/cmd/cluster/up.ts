// porthole up: from nothing, or from what a crash left, to a cluster whose nodes are all Ready.
import { statSync } from 'node:fs';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { issueClusterCredentials } from '../compose/cluster-credentials.ts';
import { checkBindAddress, everyMachineAddress } from '../compose/listen-addresses.ts';
import type { Progress } from '../progress.ts';
import { registryConfigOf } from '../setup/locations.ts';
import { linuxNodePackages, missingPackages } from '../setup/system-packages.ts';
import { askProcess } from '../supervisor/ask-process.ts';
import { superviseCluster } from '../supervisor/supervise-cluster.ts';
import type { SupervisedProcess } from '../supervisor/supervision.ts';
import { chooseRuntime } from './choose-runtime.ts';
import { differenceOf } from './cluster-difference.ts';
import { clusterId } from './cluster-id.ts';
import { withClusterLock } from './cluster-lock.ts';
import { type PlannedNode, planNodes } from './cluster-plan.ts';
import { clusterProcesses } from './cluster-processes.ts';
import {
  type ClusterPaths,
  type ClusterState,
  clusterPaths,
  type NodeRecord,
  type RuntimeKind,
  readClusterState,
  writeClusterState,
} from './cluster-state.ts';
import { crashCheck } from './crash-check.ts';
import { downAlone } from './down.ts';
import { sayWhenInterrupted } from './interrupted.ts';
import { type AddressChoice, type PlacedCluster, placeCluster } from './place-cluster.ts';
import { prepareMachine } from './prepare-machine.ts';
import { registerAgain } from './register-again.ts';
import { portsOfMirrors } from './registries/hosts-files.ts';
import { type Mirrors, mergeMirrors } from './registries/mirrors.ts';
import { openRegistries, registryAnswers } from './registries/open-registries.ts';
import { mergeCluster } from './user-kubeconfig.ts';
import { type AwaitedNode, waitForNodes, waitForServer } from './wait-ready.ts';
import { runningProcesses } from './what-runs.ts';

export interface UpOptions {
  readonly name: string;
  readonly linux: number;
  readonly windows: number;
  readonly windowsBuild: number;
  /** Windows nodes are tainted with os=windows:NoSchedule. */
  readonly windowsTaint?: boolean | undefined;
  readonly topology: string;
  readonly runtime: 'auto' | RuntimeKind;
  /** One more address to listen on; 0.0.0.0: all. Undefined: as before, or loopback and the fabric only. */
  readonly bindAddress?: string | undefined;
  /** Pods and nodes reach what listens on this machine, and what it forwards to. */
  readonly allowMachineAccess?: boolean | undefined;
  /** What all objects together may take. Undefined: as before, or the server's default. */
  readonly quotaBackendBytes?: number | undefined;
  /** Folders named after registries, as containerd takes them. Undefined: as before, or the home's own. */
  readonly registryConfig?: string | undefined;
  /** A registry beside the cluster, at this port or any. Undefined: as before, or none. */
  readonly registry?: number | true | undefined;
  /** Asked before a registry itself; of one that is not named here as before. */
  readonly registryMirror?: Mirrors | undefined;
  /** When nodes evict pods. Undefined: as before, or what suits somebody's own machine. */
  readonly evictionHard?: string | undefined;
  /** How long a node may be silent. Undefined: as before, or the server's default. */
  readonly nodeMonitorGracePeriodMs?: number | undefined;
  /** A kubeconfig that gets the cluster's context, and chooses it. Undefined: none. */
  readonly mergeInto?: string | undefined;
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

function checkSame(state: ClusterState, options: UpOptions): void {
  if (state.earlier)
    throw new Error(
      `cluster ${JSON.stringify(state.name)} was made by an earlier version of Porthole and can't go on with this one; take it down first: porthole down --name ${state.name}`,
    );
  const difference = differenceOf(state, options);
  if (difference === undefined) return;
  throw new Error(
    `cluster ${JSON.stringify(state.name)} is there already, ${difference}; take it down first: porthole down --name ${state.name}`,
  );
}

/** It may be filled later; one that is not there is misspelt. */
function checkRegistryConfig(dir: string | undefined): void {
  if (dir === undefined) return;
  if (dir.includes(':'))
    throw new Error(`--registry-config ${dir}: containerd takes no folder with a colon in its path`);
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new Error(
    `--registry-config ${dir} is no folder: it holds one folder for each registry, such as ${dir}/registry.example:5000 with a ca.crt or a hosts.toml`,
  );
}

/** Starts what is not running; a cluster that is up already is left as it is. Waits for another `up` or `down` of it. */
export async function up(options: UpOptions, progress: Progress): Promise<UpResult> {
  if (options.linux + options.windows === 0)
    throw new Error('a cluster needs a node: --linux or --windows of at least 1');
  if (options.bindAddress !== undefined) checkBindAddress(options.bindAddress, everyMachineAddress());
  checkRegistryConfig(options.registryConfig);
  const { home, name } = options;
  return sayWhenInterrupted({ name, paths: clusterPaths(home, name), say: progress.say }, () =>
    withClusterLock(linuxProcesses, options, progress, async () => {
      const result = await upAlone(options, progress);
      if (options.mergeInto !== undefined) await mergeCluster(result.state, home, options.mergeInto);
      return result;
    }),
  );
}

/** What a cluster is asked to be, and what it was when it was up before. */
interface Wanted {
  readonly options: UpOptions;
  readonly paths: ClusterPaths;
  readonly known: ClusterState | undefined;
  readonly runtime: RuntimeKind;
  /** With the addresses that they had. */
  readonly planned: readonly (PlannedNode & { readonly ip?: string })[];
  readonly runningBefore: ClusterState['processes'];
}

type Kept = Pick<
  ClusterState,
  | 'id'
  | 'bindAddress'
  | 'machineAccess'
  | 'quotaBackendBytes'
  | 'registryConfig'
  | 'registryMirrors'
  | 'evictionHard'
  | 'nodeMonitorGracePeriodMs'
  | 'mergedInto'
>;

/** What was said once holds until something else is said. */
const keptOf = ({ known, options }: Wanted): Kept => ({
  id: known?.id ?? clusterId(options.home, options.name),
  bindAddress: options.bindAddress ?? known?.bindAddress,
  machineAccess: options.allowMachineAccess || known?.machineAccess === true,
  quotaBackendBytes: options.quotaBackendBytes ?? known?.quotaBackendBytes,
  registryConfig: options.registryConfig ?? known?.registryConfig,
  registryMirrors: mergeMirrors(known?.registryMirrors, options.registryMirror),
  evictionHard: options.evictionHard ?? known?.evictionHard,
  nodeMonitorGracePeriodMs: options.nodeMonitorGracePeriodMs ?? known?.nodeMonitorGracePeriodMs,
  mergedInto: known?.mergedInto,
});

async function upAlone(options: UpOptions, progress: Progress): Promise<UpResult> {
  const paths = clusterPaths(options.home, options.name);
  const ending = readClusterState(paths)?.ending;
  if (ending !== undefined) await downAlone(paths, progress, { keep: ending === 'keep' });
  const known = readClusterState(paths);
  if (known) checkSame(known, options);
  const runtime = known?.runtime ?? decideRuntime(options, progress);
  if (runtime === 'simulated' && options.registry !== undefined)
    throw new Error('nodes of the simulated runtime pull nothing: --registry is for real ones');
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
  const runningBefore = known ? await runningProcesses(linuxFiles, paths, known) : [];
  const planned = known?.nodes ?? planNodes(options);
  const wanted: Wanted = { options, paths, known, runtime, planned, runningBefore };
  const { placed, state } = await place(wanted, progress);
  await start(wanted, placed, state, progress);
  return { server: state.server, kubeconfig: paths.kubeconfig, state };
}

/** Gives the cluster its addresses, and writes them down. */
async function place(
  wanted: Wanted,
  progress: Progress,
): Promise<{ readonly placed: PlacedCluster; readonly state: ClusterState }> {
  const { known, options, paths, planned, runningBefore, runtime } = wanted;
  const kept = keptOf(wanted);
  const record = (choice: AddressChoice, nodes: readonly NodeRecord[]): ClusterState => {
    const state: ClusterState = {
      name: options.name,
      version: 1,
      runtime,
      topology: options.topology,
      server: `https://127.0.0.1:${choice.port}`,
      clusterCidr: choice.clusterCidr,
      dnsPort: choice.dnsPort,
      registryPort: choice.registryPort,
      ...kept,
      nodes,
      processes: runningBefore,
    };
    writeClusterState(paths, state);
    return state;
  };
  const nodesWord = planned.length === 1 ? 'node' : 'nodes';
  const placed = await progress.step(
    runtime === 'containerd'
      ? `${planned.length} ${nodesWord} on one network`
      : 'nodes on the loopback address',
    () =>
      placeCluster({
        home: options.home,
        nodes: planned,
        state: {
          name: options.name,
          id: kept.id,
          runtime,
          clusterCidr: known?.clusterCidr,
          dnsPort: known?.dnsPort,
          port: known && Number(new URL(known.server).port),
          serverRuns: runningBefore.some((one) => one.role === 'server'),
          registryPort: known?.registryPort,
          registryRuns: runningBefore.some((one) => one.role === 'registry'),
        },
        registry: options.registry,
        mirrorPorts: portsOfMirrors(kept.registryMirrors),
        machineAccess: kept.machineAccess === true,
        record: (choice) => record(choice, known?.nodes ?? planned.map((node) => ({ ...node, ip: '' }))),
      }),
  );
  for (const warning of placed.warnings) progress.say(`  warning: ${warning}`);
  return { placed, state: record(placed, placed.nodes) };
}

const answersOf = ({ liveness }: SupervisedProcess): AwaitedNode['answers'] =>
  liveness && ((signal) => askProcess(liveness, signal));

/** Starts what does not run, and waits until all of it is ready. */
async function start(
  { options, paths, runningBefore }: Wanted,
  { fabric, gateway, port, nodes }: PlacedCluster,
  state: ClusterState,
  progress: Progress,
): Promise<void> {
  await issueClusterCredentials({
    clusterName: options.name,
    serverDir: paths.server,
    localUrl: state.server,
    nodeUrl: `https://${gateway}:${port}`,
    kubeconfig: paths.kubeconfig,
    nodes: nodes.map(({ name, ip }) => ({ name, ip, dir: paths.node(name) })),
    listFile: paths.credentials,
  });
  const { bindAddress, clusterCidr, dnsPort, evictionHard, quotaBackendBytes, runtime, topology } = state;
  const { nodeMonitorGracePeriodMs } = state;
  const asked = {
    bindAddress,
    clusterCidr,
    dnsPort,
    evictionHard,
    nodeMonitorGracePeriodMs,
    quotaBackendBytes,
    runtime,
    topology,
  };
  const registries = await openRegistries({ cache: options.cache, paths, gateway, state }, progress);
  const nodesAndServer = clusterProcesses({
    ...asked,
    paths,
    gateway,
    fabric,
    port,
    nodes,
    cache: options.cache,
    registryConfig: state.registryConfig ?? registryConfigOf(options.home),
  });
  const own = [...nodesAndServer, ...registries];
  const checks = own.map(({ role, logFile }) => crashCheck(paths.root, role, logFile));
  await progress.step('API server, controllers, scheduler, DNS', async () => {
    await superviseCluster(linuxProcesses, paths.root, own, state.processes);
    await waitForServer(paths.kubeconfig, checks[0]!, own[0]!.logFile);
  });
  await registerAgain({ paths, runningBefore, say: progress.say });
  await progress.step(`${nodes.length} ${nodes.length === 1 ? 'node is' : 'nodes are'} Ready`, (detail) =>
    waitForNodes(
      paths.kubeconfig,
      nodes.map((node, i) => ({
        name: node.name,
        check: checks[i + 1]!,
        log: own[i + 1]!.logFile,
        answers: answersOf(own[i + 1]!),
      })),
      detail,
    ),
  );
  await registryAnswers({ paths, port: state.registryPort, processes: registries }, progress);
}
