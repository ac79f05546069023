// Brings the processes and addresses of a cluster to what its nodes are to be: for `up`, and for who adds a node.

import type { Pki } from '../../controlplane/pki.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import {
  type ClusterCredentials,
  issueNodeCredentials,
  issueServerCredentials,
} from '../compose/cluster-credentials.ts';
import type { Progress } from '../progress.ts';
import { registryConfigOf } from '../setup/locations.ts';
import { askProcess } from '../supervisor/ask-process.ts';
import { endSupervisor, prepareSupervision, superviseCluster } from '../supervisor/supervise-cluster.ts';
import type { SupervisedProcess } from '../supervisor/supervision.ts';
import { clusterId } from './cluster-id.ts';
import { clusterProcesses } from './cluster-processes.ts';
import {
  type ClusterPaths,
  type ClusterState,
  clusterPaths,
  type NodeRecord,
  type RuntimeKind,
  writeClusterState,
} from './cluster-state.ts';
import { crashCheck } from './crash-check.ts';
import { type AskedFlag, type ExtraFlag, mergeExtraFlags } from './extra-config.ts';
import { type AddressChoice, type PlacedCluster, type PlacedNode, placeCluster } from './place-cluster.ts';
import { prepareMachine } from './prepare-machine.ts';
import { registerAgain } from './register-again.ts';
import { portsOfMirrors } from './registries/hosts-files.ts';
import { registryRoles } from './registries/local-registry.ts';
import { type Mirrors, mergeMirrors } from './registries/mirrors.ts';
import { openRegistries, registryAnswers } from './registries/open-registries.ts';
import { type AwaitedNode, waitForNodes, waitForServer } from './wait-ready.ts';
import { runningProcesses } from './what-runs.ts';

export interface Settings {
  readonly name: string;
  readonly topology: string;
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
  /** Whether the cluster gives Services of type LoadBalancer their addresses. Undefined: as before, or it does. */
  readonly loadBalancer?: boolean | undefined;
  /** More flags of the server and of kubelets, which they have been asked of. One that is not named here is as before. */
  readonly extraConfig?: readonly AskedFlag[] | undefined;
  readonly home: string;
  readonly cache: string;
}

/** What a cluster is to be, and what it was when it was up before. */
export interface Wanted {
  readonly settings: Settings;
  readonly known: ClusterState | undefined;
  readonly runtime: RuntimeKind;
  readonly nodes: readonly PlacedNode[];
}

interface Begun extends Wanted {
  readonly paths: ClusterPaths;
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
  | 'loadBalancer'
  | 'extraConfig'
  | 'mergedInto'
  | 'madeWith'
  | 'kept'
>;

/** What was said once holds until something else is said. */
const keptOf = ({ known, settings }: Wanted): Kept => ({
  id: known?.id ?? clusterId(settings.home, settings.name),
  bindAddress: settings.bindAddress ?? known?.bindAddress,
  machineAccess: settings.allowMachineAccess || known?.machineAccess === true,
  quotaBackendBytes: settings.quotaBackendBytes ?? known?.quotaBackendBytes,
  registryConfig: settings.registryConfig ?? known?.registryConfig,
  registryMirrors: mergeMirrors(known?.registryMirrors, settings.registryMirror),
  evictionHard: settings.evictionHard ?? known?.evictionHard,
  nodeMonitorGracePeriodMs: settings.nodeMonitorGracePeriodMs ?? known?.nodeMonitorGracePeriodMs,
  loadBalancer: settings.loadBalancer ?? known?.loadBalancer,
  extraConfig: mergeExtraFlags(known?.extraConfig, settings.extraConfig),
  mergedInto: known?.mergedInto,
  madeWith: known?.madeWith,
  // Until something is started: an `up` that is refused before leaves what it found.
  kept: known === undefined ? true : known.kept,
});

/** Starts what does not run, and waits until all of it is Ready. For the holder of the cluster's lock. */
export async function bringUp(wanted: Wanted, progress: Progress): Promise<ClusterState> {
  const { known, nodes, runtime, settings } = wanted;
  const paths = clusterPaths(settings.home, settings.name);
  if (runtime === 'containerd') {
    await progress.step('this machine has what it takes', (detail) =>
      prepareMachine({
        processes: linuxProcesses,
        cache: settings.cache,
        windowsBuilds: nodes.flatMap(({ windowsBuild }) => windowsBuild ?? []),
        say: detail,
      }),
    );
  }
  const runningBefore = known ? await runningProcesses(linuxFiles, paths, known) : [];
  const begun = { ...wanted, paths, runningBefore };
  const placed = await place(begun, progress);
  const { kept, ...state } = placed.state;
  await start(begun, { ...placed, state }, progress);
  return state;
}

/** Of a cluster that is up, after some of its nodes have ended: the others are all that it has. For the holder of the lock. */
export async function settleNodes(wanted: Wanted, progress: Progress): Promise<void> {
  const paths = clusterPaths(wanted.settings.home, wanted.settings.name);
  const runningBefore = wanted.known ? await runningProcesses(linuxFiles, paths, wanted.known) : [];
  const { cluster, pki, state } = await place({ ...wanted, paths, runningBefore }, progress);
  await issueNodeCredentials(pki, credentialsOf(paths, state, cluster.gateway));
}

interface Meanwhile {
  /** Nobody supervised the cluster before. */
  readonly isNew: Promise<boolean>;
  readonly pki: Promise<Pki>;
}

/** What needs the cluster's record and its port only: the network is made meanwhile, by programs that are waited for. */
function beside(begun: Begun, { port }: AddressChoice): Meanwhile {
  const { paths, settings, runningBefore } = begun;
  const isRootCa = ({ flag }: ExtraFlag): boolean => flag === 'root-ca-file';
  const isNew =
    runningBefore.length === 0 ? prepareSupervision(linuxProcesses, paths.root) : Promise.resolve(false);
  const pki = isNew.then(() =>
    issueServerCredentials({
      clusterName: settings.name,
      serverDir: paths.server,
      localUrl: serverUrl(port),
      kubeconfig: paths.kubeconfig,
      rootCaFile: keptOf(begun).extraConfig?.findLast(isRootCa)?.value,
    }),
  );
  pki.catch(() => undefined); // told when it is waited for
  return { isNew, pki };
}

interface Placed {
  readonly cluster: PlacedCluster;
  readonly state: ClusterState;
  readonly isNew: boolean;
  readonly pki: Pki;
}

const supervisorGraceMs = 10_000;

/** Addresses and network, and what a server needs to start. */
async function place(wanted: Begun, progress: Progress): Promise<Placed> {
  const begun: { meanwhile?: Meanwhile } = {};
  try {
    const placed = await placeAndRecord(wanted, progress, (choice) => {
      begun.meanwhile = beside(wanted, choice);
    });
    const { isNew, pki } = begun.meanwhile!;
    return { ...placed, isNew: await isNew, pki: await pki };
  } catch (error) {
    // It has nothing to keep running, and would do so until somebody takes the cluster down.
    if (await begun.meanwhile?.isNew) await endSupervisor(wanted.paths.root, supervisorGraceMs);
    throw error;
  }
}

const serverUrl = (port: number): string => `https://127.0.0.1:${port}`;

/** Gives the cluster its addresses, and writes them down. */
async function placeAndRecord(
  wanted: Begun,
  progress: Progress,
  recorded: (choice: AddressChoice) => void,
): Promise<Pick<Placed, 'cluster' | 'state'>> {
  const { known, nodes: planned, paths, runningBefore, runtime, settings } = wanted;
  const kept = keptOf(wanted);
  // One that is left keeps the port for both.
  const isDoor = (role: string): boolean => [...registryRoles(paths).values()].includes(role);
  const record = (choice: AddressChoice, nodes: readonly NodeRecord[]): ClusterState => {
    const state: ClusterState = {
      name: settings.name,
      version: 1,
      runtime,
      topology: settings.topology,
      server: serverUrl(choice.port),
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
  const cluster = await progress.step(
    runtime === 'containerd'
      ? `${planned.length} ${nodesWord} on one network`
      : 'nodes on the loopback address',
    () =>
      placeCluster({
        home: settings.home,
        nodes: planned,
        state: {
          name: settings.name,
          id: kept.id,
          runtime,
          clusterCidr: known?.clusterCidr,
          dnsPort: known?.dnsPort,
          port: known && Number(new URL(known.server).port),
          serverRuns: runningBefore.some((one) => one.role === 'server'),
          registryPort: known?.registryPort,
          registryRuns: runningBefore.some((one) => isDoor(one.role)),
        },
        registry: settings.registry,
        mirrorPorts: portsOfMirrors(kept.registryMirrors),
        machineAccess: kept.machineAccess === true,
        record: (choice) => {
          record(
            choice,
            planned.map((node) => ({ ip: '', ...node })),
          );
          recorded(choice);
        },
      }),
  );
  for (const warning of cluster.warnings) progress.say(`  warning: ${warning}`);
  return { cluster, state: record(cluster, cluster.nodes) };
}

const answersOf = ({ liveness }: SupervisedProcess): AwaitedNode['answers'] =>
  liveness && ((signal) => askProcess(liveness, signal));

/** For these nodes and no others: the server keeps renewed what it finds listed. */
const credentialsOf = (
  paths: ClusterPaths,
  { name, nodes, server }: ClusterState,
  gateway: string,
): ClusterCredentials => ({
  clusterName: name,
  serverDir: paths.server,
  localUrl: server,
  nodeUrl: `https://${gateway}:${new URL(server).port}`,
  kubeconfig: paths.kubeconfig,
  nodes: nodes.map((node) => ({ name: node.name, ip: node.ip, dir: paths.node(node.name) })),
  listFile: paths.credentials,
});

/** Starts what does not run, and waits until all of it is ready. */
async function start(
  { settings, paths, runningBefore }: Begun,
  { cluster: { fabric, gateway, port, nodes }, isNew, pki, state }: Placed,
  progress: Progress,
): Promise<void> {
  const { bindAddress, clusterCidr, dnsPort, evictionHard, quotaBackendBytes, runtime, topology } = state;
  const { extraConfig, loadBalancer, nodeMonitorGracePeriodMs } = state;
  const asked = {
    bindAddress,
    clusterCidr,
    dnsPort,
    evictionHard,
    extraConfig,
    loadBalancer,
    nodeMonitorGracePeriodMs,
    quotaBackendBytes,
    runtime,
    topology,
  };
  const registries = await openRegistries({ cache: settings.cache, paths, gateway, state }, progress);
  const nodesAndServer = clusterProcesses({
    ...asked,
    paths,
    gateway,
    fabric,
    port,
    nodes,
    cache: settings.cache,
    registryConfig: state.registryConfig ?? registryConfigOf(settings.home),
  });
  const own = [...nodesAndServer, ...registries];
  const checks = own.map(({ role, logFile }) => crashCheck(paths.root, role, logFile));
  await progress.step('API server, controllers, scheduler, DNS', async () => {
    writeClusterState(paths, state);
    // It starts while the nodes' credentials are made. Where there was something to supervise, all of it is named at once.
    await Promise.all([
      isNew && superviseCluster(linuxProcesses, paths.root, own.slice(0, 1), []),
      issueNodeCredentials(pki, credentialsOf(paths, state, gateway)),
    ]);
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
