// porthole down: ends a cluster's processes, containers and network, and removes its folder. Works after a crash, too.
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { silentLogger } from '../../component-base/logger.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { releaseUserRanges } from '../../emulation/wine/user-ranges.ts';
import { removeContainerd } from '../../kubelet/containerd/containerd-process.ts';
import { networkNameOf } from '../../network/cni/cni-daemon.ts';
import { forgetAttachments } from '../../network/cni/runtime-cache.ts';
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
import { removeClusterLock, withClusterLock } from './cluster-lock.ts';
import {
  type ClusterPaths,
  type ClusterState,
  clusterPaths,
  readClusterState,
  writeClusterState,
} from './cluster-state.ts';
import { withMachineClaims } from './machine-claims.ts';
import { type NodeLayout, nodeLayout } from './node-layout.ts';
import { endProcesses } from './own-processes.ts';
import { buildBeneath } from './prepare-machine.ts';
import { removeFromKubeconfigs } from './user-kubeconfig.ts';
import { runningProcesses } from './what-runs.ts';

export interface DownOptions {
  readonly name: string;
  readonly home: string;
}

const graceMs = 10_000;

const containerdSocket = (
  { containerdDir, containerdSocket }: NodeLayout,
  { earlier }: ClusterState,
): string => (earlier === true ? join(containerdDir, 'containerd.sock') : containerdSocket);

async function removeContainers(
  host: Host,
  state: ClusterState,
  nodeRoot: (name: string) => string,
): Promise<void> {
  for (const node of state.nodes) {
    const layout = nodeLayout(nodeRoot(node.name));
    await removeContainerd(
      { host, clock: systemClock, log: silentLogger },
      {
        dir: layout.containerdDir,
        root: layout.containerdRoot,
        state: layout.containerdState,
        address: containerdSocket(layout, state),
        images: true,
        cgroupRoot: layout.cgroupRoot,
      },
    );
    await host.mounts.unmountAllBelow(layout.root);
    await host.files.remove(layout.sockets);
    await forgetAttachments(host.files, networkNameOf(layout.cniConf));
  }
}

async function removeNetwork(state: ClusterState): Promise<void> {
  const ports = linuxFabricPorts(linuxProcesses, linuxFiles);
  try {
    await destroyFabric(ports, { clusterName: state.id, nodes: state.nodes });
  } finally {
    await ports.packetFilter.close();
  }
}

/** False when there is no such cluster. Waits for an `up` of it. */
export async function down(options: DownOptions, progress: Progress): Promise<boolean> {
  const paths = clusterPaths(options.home, options.name);
  if (!existsSync(paths.root)) return false;
  return withClusterLock(linuxProcesses, options, progress, async () => {
    const wasThere = await downAlone(paths, progress);
    removeClusterLock(options);
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

/** For the holder of the cluster's lock. */
export async function downAlone(paths: ClusterPaths, progress: Progress): Promise<boolean> {
  // Before anything is ended: this throws when it cannot say what there is to end.
  if (!readClusterState(paths)) {
    await removeUnbegun(paths);
    return false;
  }
  // First of all: it would start again what is ended below.
  await endSupervisor(paths.root, graceMs);
  const known = readClusterState(paths);
  if (!known) return false;
  const state: ClusterState = { ...known, ending: true };
  writeClusterState(paths, state);
  // Pods' files may lie deeper than a path can say: they go as they do while the node runs.
  const host = createLinuxHost(
    state.runtime === 'containerd' ? { beneath: await buildBeneath(linuxProcesses, portholeCache()) } : {},
  );
  const processes = await runningProcesses(linuxFiles, paths, state);
  // Agents first: nobody starts a container again while the containers are being removed.
  const agents = processes.filter((one) => one.role.startsWith('agent '));
  await progress.step('agents end', () => endProcesses(agents, graceMs));
  if (state.runtime === 'containerd')
    await progress.step('containers are removed', () => removeContainers(host, state, paths.node));
  await progress.step('server ends', () => endProcesses(processes, graceMs));
  await withMachineClaims(linuxProcesses, state, async (claims) => {
    if (state.runtime === 'containerd') await progress.step('network is removed', () => removeNetwork(state));
    if (state.runtime === 'containerd') await releaseUserRanges(linuxProcesses, paths.root);
    await refuseMounts(host, paths);
    await removeFromKubeconfigs(state, paths, progress.say);
    await removeFolder(paths, host.beneath?.remove ?? host.files.remove);
    claims.release();
  });
  return true;
}
