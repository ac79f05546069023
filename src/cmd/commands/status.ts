// porthole status: the clusters of this machine, their nodes and processes.
import { type StatsFs, statfsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { noSuchCluster } from '../cluster/cluster-name.ts';
import {
  type ClusterPaths,
  type ClusterState,
  clusterNames,
  clusterPaths,
  readClusterState,
} from '../cluster/cluster-state.ts';
import { isAlive } from '../cluster/own-processes.ts';
import { registryRoles } from '../cluster/registries/local-registry.ts';
import { whyNotReady } from '../cluster/server-health.ts';
import { knownNodes, type Readiness } from '../cluster/wait-ready.ts';
import { runningProcesses } from '../cluster/what-runs.ts';
import { checkDataDirectory } from '../compose/data-directory.ts';
import { printTable } from '../print-table.ts';
import { portholeHome } from '../setup/locations.ts';
import { processText } from '../supervisor/process-text.ts';
import { runningSupervisors } from '../supervisor/running-supervisors.ts';
import { livingSupervisor, repairSupervisor } from '../supervisor/supervise-cluster.ts';
import { supervisedProcesses, supervisedState } from '../supervisor/supervision.ts';

type DiskSpace = Pick<StatsFs, 'bavail' | 'ffree' | 'files'>;

const patienceMs = 2_000;
const lookEveryMs = 20;

export function statusCommand(): Command {
  return new Command('status')
    .description('show the clusters of this machine')
    .option('--name <name>', 'only this cluster')
    .action(async (flags: { name?: string }) => {
      const home = portholeHome();
      const names = clusterNames(home).filter((name) => flags.name === undefined || name === flags.name);
      let shown = 0;
      for (const name of names) if (await showOrSay(home, name)) shown++;
      if (shown > 0) return;
      if (flags.name !== undefined) throw new Error(noSuchCluster(flags.name));
      console.log('no cluster in this home; make one with: porthole up');
    });
}

/** False when there is no such cluster. One that can't be shown does not hide the others. */
async function showOrSay(home: string, name: string): Promise<boolean> {
  try {
    const paths = clusterPaths(home, name);
    const state = readClusterState(paths);
    if (state === undefined) return false;
    await show(paths, state);
  } catch (error) {
    console.error(`porthole: cluster ${JSON.stringify(name)}: ${(error as Error).message}\n`);
    process.exitCode = 1;
  }
  return true;
}

async function show(paths: ClusterPaths, state: ClusterState): Promise<void> {
  const { root } = paths;
  let mute: string | undefined;
  const repaired =
    state.ending === undefined &&
    (await repairSupervisor(linuxProcesses, root).catch((error: Error) => {
      mute = error.message;
      return false;
    }));
  if (repaired) await untilTold(root);
  const textOf = await textsOf(paths, state);
  const [registered, unready] = await Promise.all([
    knownNodes(paths.kubeconfig, patienceMs).catch(() => undefined), // the server does not say
    whyNotReady(paths.kubeconfig),
  ]);
  console.log(
    `${state.name}: ${state.kept ? 'stopped, ' : ''}${state.server}, runtime ${state.runtime}, topology ${state.topology}`,
  );
  printTable(
    ['NODE', 'OS', 'ADDRESS', 'AGENT'],
    state.nodes.map((node) => {
      const os = node.windowsBuild === undefined ? node.os : `${node.os} ${node.windowsBuild} (emulated)`;
      return [
        node.name,
        os,
        node.ip,
        `${textOf(`agent ${node.name}`)}${nodeText(registered, node.name, state.name)}`,
      ];
    }),
  );
  const troubles = [unready, missingText(paths), fullDiskText(root, statfsSync(root))].filter(
    (one) => one !== undefined,
  );
  console.log(`server: ${[textOf('server'), ...troubles].join('; ')}`);
  if (state.registryPort !== undefined) {
    const doors = [...registryRoles(paths).values()].map((role) => `${role}: ${textOf(role)}`);
    console.log(`registry localhost:${state.registryPort}: ${doors.join('; ')}`);
  }
  const supervisor = livingSupervisor(root) ?? (await runningSupervisors(linuxFiles, root))[0];
  console.log(
    `supervisor: ${supervisor ? `pid ${supervisor.pid}` : 'not running'}${repaired ? ', started again: it was gone' : ''}${mute === undefined ? '' : `; ${mute}`}`,
  );
  console.log(`logs: porthole logs [server|NODE] --name ${state.name}\n`);
}

/** What the API server says of a node whose agent may be well: '' while it does not say, or all is. */
export function nodeText(
  registered: ReadonlyMap<string, Readiness> | undefined,
  node: string,
  cluster: string,
): string {
  if (registered === undefined) return '';
  const known = registered.get(node);
  if (known === undefined) return `, not registered: porthole up --name ${cluster} registers it again`;
  if (known.ready) return '';
  return `, NotReady (${known.why}): porthole up --name ${cluster} repairs its network and processes`;
}

/** By what the supervisor wrote down; one that runs otherwise is found as every command finds it: no disk is needed for that. */
export async function textsOf(paths: ClusterPaths, state: ClusterState): Promise<(role: string) => string> {
  const found = await runningProcesses(linuxFiles, paths, state);
  return (role) => {
    const written = supervisedState(paths.root, role);
    const running = supervisedProcesses(paths.root)?.find((one) => one.role === role);
    if (running !== undefined && isAlive(running)) return processText(written, true, Date.now());
    const pid = found.find((one) => one.role === role)?.pid;
    if (pid === undefined) return processText(written, false, Date.now());
    return processText({ role, restarts: 0, pid }, true, Date.now());
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
