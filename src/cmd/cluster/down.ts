// porthole down: ends a cluster's processes, containers and network, and removes its folder. Works after a crash, too.
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { silentLogger } from '../../component-base/logger.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { removeContainerd } from '../../kubelet/containerd/containerd-process.ts';
import { destroyFabric } from '../../network/fabric.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { createLinuxHost } from '../../os/linux/host-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { linuxFabricPorts } from '../compose/compose-fabric.ts';
import type { Progress } from '../progress.ts';
import { type ClusterState, clusterPaths, readClusterState } from './cluster-state.ts';
import { nodeLayout } from './node-layout.ts';
import { endProcesses } from './own-processes.ts';

export interface DownOptions {
  readonly name: string;
  readonly home: string;
}

const graceMs = 10_000;

async function removeContainers(state: ClusterState, nodeRoot: (name: string) => string): Promise<void> {
  const host = createLinuxHost();
  for (const node of state.nodes) {
    const layout = nodeLayout(nodeRoot(node.name));
    await removeContainerd(
      { host, clock: systemClock, log: silentLogger },
      {
        dir: layout.containerdDir,
        root: layout.containerdRoot,
        state: layout.containerdState,
        address: layout.containerdSocket,
        images: true,
        cgroupRoot: layout.cgroupRoot,
      },
    );
    await host.mounts.unmountAllBelow(layout.root);
  }
}

/** False when there is no such cluster. */
export async function down(options: DownOptions, progress: Progress): Promise<boolean> {
  const paths = clusterPaths(options.home, options.name);
  const state = readClusterState(paths);
  if (!state) {
    if (existsSync(paths.root)) await rm(paths.root, { recursive: true, force: true });
    return false;
  }
  // Agents first: nobody starts a container again while the containers are being removed.
  const agents = state.processes.filter((one) => one.role.startsWith('agent '));
  await progress.step('agents end', () => endProcesses(agents, graceMs));
  if (state.runtime === 'containerd')
    await progress.step('containers are removed', () => removeContainers(state, paths.node));
  await progress.step('server ends', () => endProcesses(state.processes, graceMs));
  if (state.runtime === 'containerd') {
    await progress.step('network is removed', async () => {
      const ports = linuxFabricPorts(linuxProcesses, linuxFiles);
      try {
        await destroyFabric(ports, { clusterName: options.name, nodes: state.nodes });
      } finally {
        await ports.packetFilter.close();
      }
    });
  }
  await rm(paths.root, { recursive: true, force: true, maxRetries: 5 });
  return true;
}
