// The containerd of a node: started or adopted, with its sandbox image, and started again when it dies or hangs.
import type { Logger } from '../../component-base/logger.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { loadImage } from '../../images/load-image.ts';
import { pauseImage, pauseSample } from '../../images/sample-images.ts';
import { superviseContainerd } from '../../kubelet/containerd/containerd-supervisor.ts';
import { ensureCri } from '../../kubelet/containerd/damaged-store.ts';
import { keepSandboxImage } from '../../kubelet/containerd/sandbox-image.ts';
import { type SandboxCables, sweepUnknown } from '../../kubelet/containerd/sweep-unknown.ts';
import type { Host } from '../../os/host.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { type Cri, createCri } from '../../rpc-api/cri.ts';
import { createGrpcClient } from '../../wire/grpc-client.ts';
import type { NodeLayout } from '../cluster/node-layout.ts';
import { nativeDir } from '../cluster/prepare-machine.ts';

export interface NodeContainerdOptions {
  readonly layout: NodeLayout;
  readonly host: Host;
  /** BinaryName of the handlers there are beside runc, by name. */
  readonly runtimeHandlers: Readonly<Record<string, string>> | undefined;
  /** Of `<registry>/hosts.toml`, read with each pull. */
  readonly registryConfig: string;
  readonly cacheDir: string;
  readonly log: Logger;
}

export interface NodeContainerd {
  /** Why this node can make no pod. */
  problems(): readonly string[];
  /** From then on it is kept running. Returns the function that ends that; containerd itself goes on. */
  keep(cables: SandboxCables): Promise<() => Promise<void>>;
}

const placesOf = ({ layout, runtimeHandlers, registryConfig }: NodeContainerdOptions) => ({
  dir: layout.containerdDir,
  root: layout.containerdRoot,
  state: layout.containerdState,
  address: layout.containerdSocket,
  cniBinDir: layout.cniBin,
  cniConfDir: layout.cniConf,
  sandboxImage: pauseImage,
  runtimeHandlers,
  registryConfigDir: registryConfig,
});

async function loadPause(address: string, cacheDir: string): Promise<void> {
  const processes = linuxProcesses;
  const { file, platform } = await pauseSample({ processes, cacheDir, nativeDir: nativeDir() });
  await loadImage({ processes, address, file, platform, checked: true });
}

/** Of its own: whoever stops waits for nobody's answer. */
async function askCri<T>(address: string, question: (cri: Cri) => Promise<T>): Promise<T> {
  const grpc = createGrpcClient(systemClock, `unix://${address}`);
  try {
    return await question(createCri(grpc));
  } finally {
    grpc.close();
  }
}

export async function startNodeContainerd(options: NodeContainerdOptions): Promise<NodeContainerd> {
  const { layout, host, log, cacheDir } = options;
  const deps = { host, clock: systemClock, log };
  const wanted = placesOf(options);
  const { address } = wanted;
  const running = await ensureCri(deps, { ...wanted, cgroupRoot: layout.cgroupRoot });
  log.info({ pid: running.pid, adopted: running.adopted, version: running.version }, 'containerd runs');
  const image = keepSandboxImage({
    reference: pauseImage,
    isThere: () =>
      askCri(address, async ({ images }) => (await images.imageStatus({ image: pauseImage })) !== undefined),
    load: () => loadPause(address, cacheDir),
    log,
  });
  await image.begin({ anew: !running.adopted });
  return {
    problems: () => [image.problem() ?? []].flat(),
    keep: async (cables) => {
      const known = (): Promise<ReadonlySet<string>> =>
        askCri(
          address,
          async ({ runtime }) => new Set((await runtime.listPodSandbox()).flatMap(({ id }) => id ?? [])),
        );
      const sweep = sweepUnknown(deps, { places: wanted, cables, known });
      // No kubelet runs yet that could make one.
      await sweep.look();
      return superviseContainerd(deps, wanted, {
        started: async (start) => {
          await sweep.look();
          await start();
        },
        answered: async () => {
          await sweep.sweep();
          await image.ensure();
        },
      });
    },
  };
}
