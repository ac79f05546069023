// porthole up: from nothing, or from what a crash left, to a cluster whose nodes are all Ready.
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { issueClusterCredentials } from '../compose/cluster-credentials.ts';
import { checkBindAddress, everyMachineAddress } from '../compose/listen-addresses.ts';
import type { Progress } from '../progress.ts';
import { linuxNodePackages, missingPackages } from '../setup/system-packages.ts';
import { superviseCluster } from '../supervisor/supervise-cluster.ts';
import { chooseRuntime } from './choose-runtime.ts';
import { differenceOf } from './cluster-difference.ts';
import { clusterId } from './cluster-id.ts';
import { withClusterLock } from './cluster-lock.ts';
import { planNodes } from './cluster-plan.ts';
import { clusterProcesses } from './cluster-processes.ts';
import {
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
import { type AddressChoice, placeCluster } from './place-cluster.ts';
import { prepareMachine } from './prepare-machine.ts';
import { registerAgain } from './register-again.ts';
import { waitForNodes, waitForServer } from './wait-ready.ts';
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

/** Starts what is not running; a cluster that is up already is left as it is. Waits for another `up` or `down` of it. */
export async function up(options: UpOptions, progress: Progress): Promise<UpResult> {
  if (options.linux + options.windows === 0)
    throw new Error('a cluster needs a node: --linux or --windows of at least 1');
  if (options.bindAddress !== undefined) checkBindAddress(options.bindAddress, everyMachineAddress());
  const { home, name } = options;
  return sayWhenInterrupted({ name, paths: clusterPaths(home, name), say: progress.say }, () =>
    withClusterLock(linuxProcesses, options, progress, () => upAlone(options, progress)),
  );
}

async function upAlone(options: UpOptions, progress: Progress): Promise<UpResult> {
  const paths = clusterPaths(options.home, options.name);
  if (readClusterState(paths)?.ending) await downAlone(paths, progress);
  const known = readClusterState(paths);
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
  const planned = planNodes(options);
  const id = known?.id ?? clusterId(options.home, options.name);
  const runningBefore = known ? await runningProcesses(linuxFiles, paths, known) : [];
  let state!: ClusterState;
  const bindAddress = options.bindAddress ?? known?.bindAddress;
  const machineAccess = options.allowMachineAccess || known?.machineAccess === true;
  const quotaBackendBytes = options.quotaBackendBytes ?? known?.quotaBackendBytes;
  const record = ({ port, dnsPort, clusterCidr }: AddressChoice, nodes: readonly NodeRecord[]): void => {
    state = {
      name: options.name,
      id,
      version: 1,
      runtime,
      topology: options.topology,
      server: `https://127.0.0.1:${port}`,
      clusterCidr,
      dnsPort,
      bindAddress,
      machineAccess,
      quotaBackendBytes,
      nodes,
      processes: runningBefore,
    };
    writeClusterState(paths, state);
  };
  const { gateway, fabric, port, dnsPort, clusterCidr, nodes, warnings } = await progress.step(
    runtime === 'containerd'
      ? `${planned.length} ${planned.length === 1 ? 'node' : 'nodes'} on one network`
      : 'nodes on the loopback address',
    () =>
      placeCluster({
        home: options.home,
        nodes: planned,
        state: {
          name: options.name,
          id,
          runtime,
          clusterCidr: known?.clusterCidr,
          dnsPort: known?.dnsPort,
          port: known && Number(new URL(known.server).port),
          serverRuns: runningBefore.some((one) => one.role === 'server'),
        },
        machineAccess,
        record: (choice) => record(choice, known?.nodes ?? planned.map((node) => ({ ...node, ip: '' }))),
      }),
  );
  for (const warning of warnings) progress.say(`  warning: ${warning}`);
  record({ port, dnsPort, clusterCidr }, nodes);
  await issueClusterCredentials({
    clusterName: options.name,
    serverDir: paths.server,
    localUrl: state.server,
    nodeUrl: `https://${gateway}:${port}`,
    kubeconfig: paths.kubeconfig,
    nodes: nodes.map(({ name, ip }) => ({ name, ip, dir: paths.node(name) })),
    listFile: paths.credentials,
  });
  const own = clusterProcesses({
    paths,
    gateway,
    fabric,
    port,
    dnsPort,
    bindAddress,
    quotaBackendBytes,
    nodes,
    cache: options.cache,
    runtime,
    topology: options.topology,
    clusterCidr,
  });
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
      })),
      detail,
    ),
  );
  return { server: state.server, kubeconfig: paths.kubeconfig, state };
}
