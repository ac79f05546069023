// porthole down: ends a cluster's processes, containers and network, and removes its folder or keeps it. Works after a crash, too.
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { releaseUserRanges } from '../../emulation/wine/user-ranges.ts';
import { destroyFabric } from '../../network/fabric.ts';
import type { Host } from '../../os/host.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { createLinuxHost } from '../../os/linux/host-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { removeIfEmpty } from '../../os/remove-if-empty.ts';
import { linuxFabricPorts } from '../compose/compose-fabric.ts';
import type { Progress } from '../progress.ts';
import { portholeCache } from '../setup/locations.ts';
import { endSupervisor } from '../supervisor/supervise-cluster.ts';
import { forgetSupervised } from '../supervisor/supervision.ts';
import { hasClusterLock, withClusterLock } from './cluster-lock.ts';
import { endingCluster } from './cluster-name.ts';
import {
  type ClusterPaths,
  type ClusterState,
  clusterPaths,
  readClusterState,
  writeClusterState,
} from './cluster-state.ts';
import { endContainers } from './end-containers.ts';
import { withMachineClaims } from './machine-claims.ts';
import { endProcesses } from './own-processes.ts';
import { buildBeneath } from './prepare-machine.ts';
import { removeFromKubeconfigs } from './user-kubeconfig.ts';
import { runningProcesses } from './what-runs.ts';

export interface DownOptions {
  readonly name: string;
  readonly home: string;
  /** Everything ends, and what is stored stays: `up` goes on from there. */
  readonly keep?: boolean;
}

const graceMs = 10_000;

async function removeNetwork(state: ClusterState): Promise<void> {
  const ports = linuxFabricPorts();
  try {
    await destroyFabric(ports, { clusterName: state.id, nodes: state.nodes });
  } finally {
    await ports.packetFilter.close();
  }
}

/** False when there is no such cluster. Waits for an `up` of it. */
export async function down(options: DownOptions, progress: Progress): Promise<boolean> {
  const paths = clusterPaths(options.home, options.name);
  if (!existsSync(paths.root) && !hasClusterLock(options)) return false;
  return withClusterLock(linuxProcesses, options, progress, async () => {
    // Of a command that was killed before there was anything the lock alone is left.
    if (!existsSync(paths.root)) return false;
    const wasThere = await downAlone(paths, progress, options);
    removeIfEmpty(dirname(paths.root));
    return wasThere;
  });
}

/** The record goes last: a `down` that was ended here is finished by the next command. */
async function removeFolder(paths: ClusterPaths, removeTree: (path: string) => Promise<void>): Promise<void> {
  for (const name of await readdir(paths.root))
    if (name !== basename(paths.state)) await removeTree(join(paths.root, name));
  await rm(paths.root, { recursive: true, force: true, maxRetries: 5 });
}

/** What somebody has mounted there is not ours to remove, nor what is in it. */
async function refuseMounts({ mounts }: Pick<Host, 'mounts'>, { root }: ClusterPaths): Promise<void> {
  const foreign = (await mounts.list()).filter(({ target }) => target.startsWith(`${root}/`));
  if (foreign.length === 0) return;
  const targets = foreign.map(({ target }) => target);
  const steps = targets.toReversed().map((target) => `umount ${target}`);
  throw new Error(
    `mounted beneath the cluster's folder, and not by us: ${targets.join(', ')}; its files stay until then; next: ${steps.join('; ')}; porthole down --name ${basename(root)}`,
  );
}

/** What a killed command left before there was a record. Data may be there without one: a store restored before the first `up`. */
async function removeUnbegun({ root }: ClusterPaths): Promise<void> {
  const held = (await readdir(root)).filter((name) => !name.endsWith('.new'));
  if (held.length > 0)
    throw new Error(
      `${root} is no cluster's, as far as it says, and holds ${held.sort().join(', ')}; nothing was removed: remove it yourself if nobody needs it`,
    );
  await rm(root, { recursive: true, force: true });
}

/** Processes, containers, network: what of the cluster is on the machine besides its files. Its record says that this has begun. */
async function end(
  host: Host,
  paths: ClusterPaths,
  state: ClusterState,
  keep: boolean,
  progress: Progress,
): Promise<void> {
  const processes = await runningProcesses(linuxFiles, paths, state);
  // Agents first: nobody starts a container again while the containers are being removed.
  const agents = processes.filter((one) => one.role.startsWith('agent '));
  await progress.step('agents end', () => endProcesses(agents, graceMs));
  if (state.runtime === 'containerd')
    await progress.step(keep ? 'containers end' : 'containers are removed', async () => {
      await Promise.all(
        state.nodes.map((node) => endContainers(host, paths.node(node.name), state, { keep })),
      );
    });
  await progress.step('server ends', () => endProcesses(processes, graceMs));
}

const noSpace: readonly unknown[] = ['ENOSPC', 'EDQUOT'];

/** Says in its record that its end has begun. What fills the disk may be the cluster: that is no reason to let it run. */
function markEnding(paths: ClusterPaths, state: ClusterState): void {
  try {
    writeClusterState(paths, state);
  } catch (error) {
    if (!noSpace.includes((error as NodeJS.ErrnoException).code)) throw error;
  }
}

/** For the holder of the cluster's lock. */
export async function downAlone(
  paths: ClusterPaths,
  progress: Progress,
  { keep = false }: Pick<DownOptions, 'keep'> = {},
): Promise<boolean> {
  // Before anything is ended: this throws when it cannot say what there is to end.
  const before = readClusterState(paths);
  if (!before) {
    await removeUnbegun(paths);
    return false;
  }
  if (keep && before.ending === true) throw new Error(endingCluster(before));
  // First of all: it would start again what is ended below.
  await endSupervisor(paths.root, graceMs);
  const known = readClusterState(paths);
  if (!known) return false;
  const { kept, ...rest } = known;
  const state: ClusterState = { ...rest, ending: keep ? 'keep' : true };
  markEnding(paths, state);
  // Pods' files may lie deeper than a path can say: they go as they do while the node runs.
  const host = createLinuxHost(
    state.runtime === 'containerd' ? { beneath: await buildBeneath(linuxProcesses, portholeCache()) } : {},
  );
  await end(host, paths, state, keep, progress);
  await withMachineClaims(linuxProcesses, state, async (claims) => {
    if (state.runtime === 'containerd') await progress.step('network is removed', () => removeNetwork(state));
    if (keep) return; // its addresses stay its own
    if (state.runtime === 'containerd') await releaseUserRanges(linuxProcesses, paths.root);
    await refuseMounts(host, paths);
    await removeFromKubeconfigs(state, paths, progress.say);
    await removeFolder(paths, host.beneath?.remove ?? host.files.remove);
    claims.release();
  });
  if (keep) {
    const { ending, ...ended } = state;
    forgetSupervised(paths.root);
    writeClusterState(paths, { ...ended, kept: true, processes: [] });
  }
  return true;
}
