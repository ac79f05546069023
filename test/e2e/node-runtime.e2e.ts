// The runtime of real containers keeps the same contract as the simulated one.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { busyboxImage } from '../../src/images/sample-images.ts';
import { createContainerdRuntime } from '../../src/kubelet/containerd/containerd-runtime.ts';
import { createLinuxNodeOs } from '../../src/kubelet/node-os/linux.ts';
import { nodeRuntimeConformance } from '../../src/kubelet/testing/node-runtime-conformance.ts';
import { eventually } from '../harness/eventually.ts';
import { startRuntime } from '../harness/kubelet-node.ts';
import { scratchDirectory } from '../harness/scratch.ts';

nodeRuntimeConformance({
  name: 'containerd',
  open: async () => {
    const scratch = scratchDirectory('runtime');
    const { cri, host, contentRoot, close } = await startRuntime(scratch.path);
    const paths = { root: join(scratch.path, 'kubelet'), logs: join(scratch.path, 'pod-logs') };
    return {
      runtime: await createContainerdRuntime({ cri, host, paths, contentRoot }),
      nodeOs: createLinuxNodeOs({ osImage: 'Linux', kernelVersion: '6' }),
      image: busyboxImage,
      wrote: async (id, path) => {
        await eventually(async () => {
          const { exitCode } = await cri.runtime.execSync(id, ['test', '-e', path], 10);
          assert.equal(exitCode, 0);
        });
      },
      close: async () => {
        await close();
        scratch.remove();
      },
    };
  },
});
