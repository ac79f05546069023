// Containers of this machine as a node's runtime: what pods have lies in its folders, cgroups and mounts.
import type { Beneath } from '../../os/beneath.ts';
import type { Host } from '../../os/host.ts';
import type { Cri } from '../../rpc-api/cri.ts';
import { createPodMeter } from '../eviction/measure-pods.ts';
import { createImagePlatform } from '../image-platform.ts';
import type { NodeRuntime } from '../node-runtime.ts';
import { createPodStorage, type KubeletPaths } from '../pod-storage.ts';
import { createNodeProber } from '../prober/node-prober.ts';
import { createPullRecords } from '../runtime/pull-records.ts';
import { createNodeVolumeManager } from '../volumes/node-volume-manager.ts';

export interface ContainerdRuntimeOptions {
  readonly cri: Cri;
  readonly host: Pick<Host, 'files' | 'mounts' | 'stats' | 'cgroups' | 'beneath'>;
  readonly paths: KubeletPaths;
  /** containerd's root folder, to read image configurations; absent: images are not checked before they run. */
  readonly contentRoot?: string | undefined;
  /** Default: the node has none. */
  readonly registryLogins?: NodeRuntime['registryLogins'];
  /** Prefix of the pods' cgroups. Default '', for `/kubepods`. */
  readonly cgroupRoot?: string;
  /** Default: nothing else is needed. */
  readonly problems?: NodeRuntime['problems'];
  /** Default: the CRI tells all. */
  readonly fullExitCode?: NodeRuntime['fullExitCode'];
  /** Folders and files of a container that its programs write and the CRI does not count. Default none. */
  readonly keptOf?: (containerId: string) => readonly string[];
}

function beneathOf({ beneath }: Pick<Host, 'beneath'>): Beneath {
  if (!beneath) throw new Error('a node of real containers needs the program that walks beneath folders');
  return beneath;
}

/** Makes the kubelet's folder where it is not there. */
export async function createContainerdRuntime(options: ContainerdRuntimeOptions): Promise<NodeRuntime> {
  const { cri, host, paths, contentRoot } = options;
  const { files, mounts, stats } = host;
  const beneath = beneathOf(host);
  const storage = createPodStorage(host, paths);
  await files.makeDirectory(paths.root, 0o750);
  return {
    cri,
    notice: undefined,
    storage,
    pullRecords: createPullRecords(files, paths.root),
    cgroups: host.cgroups,
    cgroupRoot: options.cgroupRoot ?? '',
    seccompRoot: `${paths.root}/seccomp`,
    disks: async () => ({
      node: await stats.disk(paths.root),
      images: await stats.disk(contentRoot ?? paths.root),
    }),
    problems: options.problems ?? (() => []),
    fullExitCode: options.fullExitCode ?? (async () => undefined),
    registryLogins: options.registryLogins ?? (async () => undefined),
    imagePlatform:
      contentRoot === undefined ? async () => undefined : createImagePlatform(files, contentRoot),
    volumes: (deps) =>
      createNodeVolumeManager({ ...deps, host: { files, mounts, beneath }, podDir: storage.podDir }),
    prober: createNodeProber,
    meter: (deps) =>
      createPodMeter({
        ...deps,
        beneath,
        storage,
        keptOf: options.keptOf ?? (() => []),
      }),
  };
}
