// What is told of a cluster: its nodes and processes as they are, and what is wrong with them.
import { type StatsFs, statfsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { checkDataDirectory } from '../compose/data-directory.ts';
import { tableText } from '../print-table.ts';
import { processText } from '../supervisor/process-text.ts';
import { runningSupervisors } from '../supervisor/running-supervisors.ts';
import { livingSupervisor, repairSupervisor } from '../supervisor/supervise-cluster.ts';
import { type SupervisedState, supervisedProcesses, supervisedState } from '../supervisor/supervision.ts';
import type { ClusterPaths, ClusterState, NodeRecord } from './cluster-state.ts';
import { isAlive } from './own-processes.ts';
import { registryRoles } from './registries/local-registry.ts';
import { whyNotReady } from './server-health.ts';
import { knownNodes, type Readiness } from './wait-ready.ts';
import { runningProcesses } from './what-runs.ts';

export interface ProcessReport {
  readonly running: boolean;
  readonly pid?: number | undefined;
  /** Since the last `up` of a cluster that was down. */
  readonly restarts: number;
  /** For people. */
  readonly message: string;
}

export interface NodeReport {
  readonly name: string;
  readonly os: NodeRecord['os'];
  readonly windowsBuild?: number | undefined;
  readonly emulated: boolean;
  readonly address: string;
  readonly agent: ProcessReport;
  /** Undefined while the API server does not say. */
  readonly registered?: boolean | undefined;
  readonly ready?: boolean | undefined;
  readonly cordoned?: boolean | undefined;
  /** Of the Ready condition, while it is not. */
  readonly reason?: string | undefined;
}

export interface ClusterReport {
  readonly name: string;
  /** Stopping and Terminating: a `down` was killed, and the next one ends it. */
  readonly phase: 'Running' | 'Stopped' | 'Stopping' | 'Terminating';
  readonly endpoint: string;
  readonly runtime: string;
  readonly topology: string;
  readonly kubeconfig: string;
  readonly nodes: readonly NodeReport[];
  readonly server: ProcessReport;
  /** Of `up --registry`. */
  readonly registry?:
    | { readonly host: string; readonly running: boolean; readonly message: string }
    | undefined;
  readonly supervisor: {
    readonly running: boolean;
    readonly pid?: number | undefined;
    readonly message: string;
  };
  /** Sentences, with what to do. */
  readonly problems: readonly string[];
}

type DiskSpace = Pick<StatsFs, 'bavail' | 'ffree' | 'files'>;

const patienceMs = 2_000;
const lookEveryMs = 20;

/** A supervisor that is gone is started again: who looks at a cluster wants it to go on. */
export async function reportOf(paths: ClusterPaths, state: ClusterState): Promise<ClusterReport> {
  const { root } = paths;
  const phase = phaseOf(state);
  let mute: string | undefined;
  const repaired =
    phase === 'Running' &&
    (await repairSupervisor(linuxProcesses, root).catch((error: Error) => {
      mute = error.message;
      return false;
    }));
  if (repaired) await untilTold(root);
  const processOf = await processesOf(paths, state);
  const [registered, unready] = await Promise.all([
    knownNodes(paths.kubeconfig, patienceMs).catch(() => undefined), // the server does not say
    whyNotReady(paths.kubeconfig),
  ]);
  const supervisor = livingSupervisor(root) ?? (await runningSupervisors(linuxFiles, root))[0];
  const word = supervisor ? `pid ${supervisor.pid}` : 'not running';
  return {
    name: state.name,
    phase,
    endpoint: state.server,
    runtime: state.runtime,
    topology: state.topology,
    kubeconfig: paths.kubeconfig,
    nodes: state.nodes.map((node) => nodeReport(node, processOf(`agent ${node.name}`), registered)),
    server: processOf('server'),
    registry: registryReport(paths, state, processOf),
    supervisor: {
      running: supervisor !== undefined,
      pid: supervisor?.pid,
      message: `${word}${repaired ? ', started again: it was gone' : ''}${mute === undefined ? '' : `; ${mute}`}`,
    },
    problems: [unready, missingText(paths), fullDiskText(root, statfsSync(root))].filter(
      (one) => one !== undefined,
    ),
  };
}

/** It has a process for each of its doors. */
function registryReport(
  paths: ClusterPaths,
  { registryPort }: ClusterState,
  processOf: (role: string) => ProcessReport,
): ClusterReport['registry'] {
  if (registryPort === undefined) return undefined;
  const doors = [...registryRoles(paths).values()].map((role) => ({ role, ...processOf(role) }));
  return {
    host: `localhost:${registryPort}`,
    running: doors.every(({ running }) => running),
    message: doors.map(({ role, message }) => `${role}: ${message}`).join('; '),
  };
}

function phaseOf({ ending, kept }: ClusterState): ClusterReport['phase'] {
  if (ending !== undefined) return ending === 'keep' ? 'Stopping' : 'Terminating';
  return kept ? 'Stopped' : 'Running';
}

function nodeReport(
  { name, os, windowsBuild, ip }: NodeRecord,
  agent: ProcessReport,
  registered: ReadonlyMap<string, Readiness> | undefined,
): NodeReport {
  const known = registered?.get(name);
  return {
    name,
    os,
    windowsBuild,
    emulated: os === 'windows',
    address: ip,
    agent,
    registered: registered && known !== undefined,
    ready: known?.ready,
    cordoned: known?.cordoned,
    reason: known === undefined || known.ready ? undefined : known.why,
  };
}

/** What the API server says of a node whose agent may be well: '' while it does not say. */
export function nodeText(
  { cordoned, name, ready, reason, registered }: Omit<NodeReport, 'os' | 'emulated' | 'address' | 'agent'>,
  cluster: string,
): string {
  if (registered === undefined) return '';
  if (!registered) return `, not registered: porthole up --name ${cluster} registers it again`;
  const pods = cordoned ? `, cordoned: kubectl uncordon ${name} lets new pods come to it` : '';
  if (ready === true) return `, Ready${pods}`;
  return `, NotReady (${reason}): porthole up --name ${cluster} repairs its network and processes${pods}`;
}

export function nodesText(nodes: readonly NodeReport[], cluster: string): string {
  return tableText(
    ['NODE', 'OS', 'ADDRESS', 'AGENT'],
    nodes.map((node) => [
      node.name,
      node.windowsBuild === undefined ? node.os : `${node.os} ${node.windowsBuild} (emulated)`,
      node.address,
      `${node.agent.message}${nodeText(node, cluster)}`,
    ]),
  );
}

const reportProcess = (state: SupervisedState | undefined, running: boolean): ProcessReport => ({
  running,
  pid: running ? state?.pid : undefined,
  restarts: state?.restarts ?? 0,
  message: processText(state, running, Date.now()),
});

/** By what the supervisor wrote down; one that runs otherwise is found as every command finds it: no disk is needed for that. */
export async function processesOf(
  paths: ClusterPaths,
  state: ClusterState,
): Promise<(role: string) => ProcessReport> {
  const found = await runningProcesses(linuxFiles, paths, state);
  return (role) => {
    const written = supervisedState(paths.root, role);
    const running = supervisedProcesses(paths.root)?.find((one) => one.role === role);
    if (running !== undefined && isAlive(running)) return reportProcess(written, true);
    const pid = found.find((one) => one.role === role)?.pid;
    if (pid === undefined) return reportProcess(written, false);
    return reportProcess({ role, restarts: 0, pid }, true);
  };
}

/** Nobody can write down what changes. */
export function fullDiskText(root: string, { bavail, ffree, files }: DiskSpace): string | undefined {
  if (bavail > 0 && (ffree > 0 || files === 0)) return undefined;
  return `the disk of ${root} is full: free some space`;
}

/** A server that runs does not need all of its files; its next start does. */
function missingText({ server }: ClusterPaths): string | undefined {
  try {
    checkDataDirectory(server);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** A supervisor that was just started says so before it starts what it keeps running. */
async function untilTold(root: string): Promise<void> {
  const until = performance.now() + patienceMs;
  const isTold = (): boolean => supervisedProcesses(root)?.some(isAlive) === true;
  while (!isTold() && performance.now() < until) await delay(lookEveryMs);
}
