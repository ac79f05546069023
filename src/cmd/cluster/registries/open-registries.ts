// What `up` does for registries: nodes are told of them, and the one beside the cluster is there.
import { linuxProcesses } from '../../../os/linux/processes-linux.ts';
import type { Progress } from '../../progress.ts';
import { ensureDockerRegistry } from '../../setup/docker-registry.ts';
import type { SupervisedProcess } from '../../supervisor/supervision.ts';
import type { ClusterPaths, ClusterState } from '../cluster-state.ts';
import { crashCheck } from '../crash-check.ts';
import { waitForProcess } from '../wait-ready.ts';
import { announceRegistry } from './announce-registry.ts';
import { hostsFilesOf, portsOfMirrors, writeHostsFiles } from './hosts-files.ts';
import { registryProcesses } from './local-registry.ts';
import type { Mirrors } from './mirrors.ts';

export interface OpenRegistries {
  readonly paths: ClusterPaths;
  readonly gateway: string;
  readonly cache: string;
  readonly state: Pick<ClusterState, 'registryPort' | 'registryMirrors'>;
}

/** The cluster's own registry has a door that only reads; of others only who runs them knows whether they take pushes. */
function warnOfWriters(mirrors: Mirrors | undefined, own: number | undefined, progress: Progress): void {
  const ports = [...new Set(portsOfMirrors(mirrors))].filter((port) => port !== own);
  if (ports.length === 0) return;
  const which = ports.length === 1 ? `port ${ports[0]}` : `ports ${ports.join(', ')}`;
  progress.say(
    `  warning: pods reach the mirrors on this machine too (${which}): one that takes pushes lets any pod choose what all nodes run; make it refuse them, as a pull-through cache does, or use --registry, which pods only read`,
  );
}

/** The processes that the cluster has for them. */
export async function openRegistries(
  { cache, gateway, paths, state }: OpenRegistries,
  progress: Progress,
): Promise<readonly SupervisedProcess[]> {
  const { registryPort: port, registryMirrors: mirrors } = state;
  writeHostsFiles(paths.certs, hostsFilesOf({ gateway, registryPort: port, mirrors }));
  warnOfWriters(mirrors, port, progress);
  if (port === undefined) return [];
  const program = await progress.step('docker-registry is there', (detail) =>
    ensureDockerRegistry(linuxProcesses, cache, detail),
  );
  return registryProcesses({ gateway, paths, port, program });
}

/** Returns when the one beside the cluster answers, and tools can find it. */
export async function registryAnswers(
  {
    paths,
    port,
    processes,
  }: {
    readonly paths: ClusterPaths;
    readonly port: number | undefined;
    readonly processes: readonly SupervisedProcess[];
  },
  progress: Progress,
): Promise<void> {
  if (port === undefined) return;
  await progress.step(`registry localhost:${port}, for this machine and for all nodes`, async () => {
    for (const one of processes) await waitForProcess(one, crashCheck(paths.root, one.role, one.logFile));
    await announceRegistry(paths.kubeconfig, port);
  });
}
