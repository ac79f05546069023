// Where a test's own containerd lies: everything below one folder.
import { join } from 'node:path';
import type { EnsureContainerdOptions } from '../../src/kubelet/containerd/containerd-process.ts';

export const containerdIn = (directory: string, sandboxImage: string): EnsureContainerdOptions => ({
  dir: join(directory, 'containerd'),
  root: join(directory, 'root'),
  state: join(directory, 'state'),
  address: join(directory, 'containerd.sock'),
  cniBinDir: '/usr/lib/cni',
  cniConfDir: join(directory, 'net.d'),
  sandboxImage,
});
