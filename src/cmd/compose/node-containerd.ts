// The containerd of a node: started or adopted, with its sandbox image, and started again when it dies.
import type { Logger } from '../../component-base/logger.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { loadImage } from '../../images/load-image.ts';
import { linuxSampleImages, pauseImage } from '../../images/sample-images.ts';
import { superviseContainerd } from '../../kubelet/containerd/containerd-supervisor.ts';
import { ensureCri } from '../../kubelet/containerd/damaged-store.ts';
import type { Host } from '../../os/host.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import type { NodeLayout } from '../cluster/node-layout.ts';
import { nativeDir } from '../cluster/prepare-machine.ts';

export interface NodeContainerdOptions {
  readonly layout: NodeLayout;
  readonly host: Host;
  /** BinaryName of the handlers for Windows containers. */
  readonly windowsRuntimeBinary: string | undefined;
  /** Of `<registry>/hosts.toml`, read with each pull. */
  readonly registryConfig: string;
  readonly cacheDir: string;
  readonly log: Logger;
}

/** Returns the function that ends the watch over it; containerd itself goes on. */
export async function startNodeContainerd(options: NodeContainerdOptions): Promise<() => Promise<void>> {
  const { layout, host, log, cacheDir } = options;
  const deps = { host, clock: systemClock, log };
  const wanted = {
    dir: layout.containerdDir,
    root: layout.containerdRoot,
    state: layout.containerdState,
    address: layout.containerdSocket,
    cniBinDir: layout.cniBin,
    cniConfDir: layout.cniConf,
    sandboxImage: pauseImage,
    windowsRuntimeBinary: options.windowsRuntimeBinary,
    registryConfigDir: options.registryConfig,
  };
  const running = await ensureCri(deps, { ...wanted, cgroupRoot: layout.cgroupRoot });
  log.info({ pid: running.pid, adopted: running.adopted, version: running.version }, 'containerd runs');
  if (!running.adopted) {
    const [pause] = await linuxSampleImages({ processes: linuxProcesses, cacheDir, nativeDir: nativeDir() });
    await loadImage({
      processes: linuxProcesses,
      address: wanted.address,
      file: pause!.file,
      platform: pause!.platform,
      checked: true,
    });
  }
  return superviseContainerd(deps, wanted);
}
