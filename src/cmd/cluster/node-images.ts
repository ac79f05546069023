// Images on the nodes of a running cluster: what fits a node is loaded into its containerd.

import { inspectArchive } from '../../images/inspect-archive.ts';
import { loadImage } from '../../images/load-image.ts';
import { type SampleImage, sampleImages } from '../../images/sample-images.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { runOrThrow } from '../../os/processes.ts';
import type { Progress } from '../progress.ts';
import { type ClusterState, clusterPaths, type NodeRecord, readClusterState } from './cluster-state.ts';
import { nodeLayout } from './node-layout.ts';
import { nativeDir } from './prepare-machine.ts';

export interface LoadedImage {
  readonly node: string;
  readonly image: string;
}

interface Where {
  readonly name: string;
  readonly home: string;
}

interface Target extends NodeRecord {
  /** containerd's socket. */
  readonly address: string;
}

function targetsOf(where: Where): { readonly state: ClusterState; readonly targets: readonly Target[] } {
  const paths = clusterPaths(where.home, where.name);
  const state = readClusterState(paths);
  if (!state)
    throw new Error(
      `there is no cluster ${JSON.stringify(where.name)}; make it with: porthole up --name ${where.name}`,
    );
  if (state.runtime !== 'containerd')
    throw new Error(`cluster ${JSON.stringify(where.name)} has the simulated runtime: it needs no images`);
  return {
    state,
    targets: state.nodes.map((node) => ({
      ...node,
      address: nodeLayout(paths.node(node.name)).containerdSocket,
    })),
  };
}

const fits = (image: SampleImage, node: NodeRecord): boolean => image.platform.startsWith(`${node.os}/`);

export async function buildSamples(
  where: Where & { readonly cache: string },
  progress: Progress,
): Promise<LoadedImage[]> {
  const { targets } = targetsOf(where);
  const windowsBuilds = [...new Set(targets.flatMap((node) => node.windowsBuild ?? []))];
  const images = await progress.step('sample images are built', (detail) =>
    sampleImages({
      processes: linuxProcesses,
      cacheDir: where.cache,
      nativeDir: nativeDir(),
      windowsBuilds,
      onProgress: detail,
    }),
  );
  return progress.step('sample images are loaded', async (detail) => {
    const loaded: LoadedImage[] = [];
    for (const node of targets) {
      for (const image of images.filter((one) => fits(one, node))) {
        detail(`${image.reference} into ${node.name}`);
        await loadImage({
          processes: linuxProcesses,
          address: node.address,
          file: image.file,
          platform: image.platform,
        });
        loaded.push({ node: node.name, image: image.reference });
      }
    }
    return loaded;
  });
}
