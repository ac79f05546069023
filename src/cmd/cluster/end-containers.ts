// Takes away what a node has on this machine besides its files: containerd with all that it runs, mounts, sockets.
import { join } from 'node:path';
import { silentLogger } from '../../component-base/logger.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { removeContainerd } from '../../kubelet/containerd/containerd-process.ts';
import { networkNameOf } from '../../network/cni/cni-daemon.ts';
import { forgetAttachments } from '../../network/cni/runtime-cache.ts';
import type { Host } from '../../os/host.ts';
import type { ClusterState } from './cluster-state.ts';
import { type NodeLayout, nodeLayout } from './node-layout.ts';

/** What a pod's programs get, when their cluster goes on later. */
const graceMs = 5_000;

const containerdSocket = (
  { containerdDir, containerdSocket }: NodeLayout,
  { earlier }: Pick<ClusterState, 'earlier'>,
): string => (earlier === true ? join(containerdDir, 'containerd.sock') : containerdSocket);

/** `keep`: images and what pods have written stay, and their programs may finish. The node's agent has ended. */
export async function endContainers(
  host: Host,
  nodeRoot: string,
  state: Pick<ClusterState, 'earlier'>,
  { keep }: { readonly keep: boolean },
): Promise<void> {
  const layout = nodeLayout(nodeRoot);
  await removeContainerd(
    { host, clock: systemClock, log: silentLogger },
    {
      dir: layout.containerdDir,
      root: layout.containerdRoot,
      state: layout.containerdState,
      address: containerdSocket(layout, state),
      images: !keep,
      cgroupRoot: layout.cgroupRoot,
      ...(keep ? { graceMs } : {}),
    },
  );
  await host.mounts.unmountAllBelow(layout.root);
  await host.files.remove(layout.sockets);
  await forgetAttachments(host.files, networkNameOf(layout.cniConf));
}
