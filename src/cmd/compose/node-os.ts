// Which operating system a node is, out of its flags and the machine.
import { windowsVersionOf } from '../../component-helpers/windows-image-match.ts';
import { createLinuxNodeOs } from '../../kubelet/node-os/linux.ts';
import type { NodeOs } from '../../kubelet/node-os/node-os.ts';
import { createWindowsNodeOs, windowsTaint } from '../../kubelet/node-os/windows.ts';
import type { Host } from '../../os/host.ts';

export interface NodeOsOptions {
  readonly os: 'linux' | 'windows';
  readonly windowsBuild: number;
  /** Its pods are state machines. */
  readonly simulated?: boolean;
  /** What runs the programs of an emulated Windows node; absent: nothing does. */
  readonly wineVersion?: string | undefined;
  /** `os=windows:NoSchedule` on a Windows node. */
  readonly windowsTaint?: boolean | undefined;
  /** The folder that is a Windows node's drive C:. */
  readonly hostDrive: string;
  /** How emulated pods are kept apart. */
  readonly isolation?: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
}

export async function nodeOsOf(options: NodeOsOptions, host: Pick<Host, 'stats'>): Promise<NodeOs> {
  const { labels, wineVersion } = options;
  const machine = await host.stats.machine();
  if (options.os === 'linux')
    return createLinuxNodeOs({
      osImage: machine.osImage,
      kernelVersion: machine.kernelVersion,
      appArmor: machine.appArmor,
      labels,
    });
  const windows = windowsVersionOf(options.windowsBuild);
  if (!windows) throw new Error(`no Windows Server has build ${options.windowsBuild}`);
  return createWindowsNodeOs({
    build: windows.build,
    osImage: windows.productName,
    kernelVersion: windows.kernelVersion,
    emulated: true,
    simulated: options.simulated === true,
    hostDrive: options.hostDrive,
    emulatedOn:
      wineVersion === undefined
        ? 'a simulation'
        : `Wine ${wineVersion}, ${machine.osImage}, Linux ${machine.kernelVersion}`,
    ...(options.isolation === undefined ? {} : { isolation: options.isolation }),
    taints: options.windowsTaint === true ? [windowsTaint] : [],
    labels,
  });
}
