// The folder for KUBEBUILDER_ASSETS: small scripts that start this Porthole as what envtest looks for, and the real kubectl.
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { ensureKubectl } from '../setup/kubectl.ts';
import { packageRoot } from '../setup/package-root.ts';

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Answers with the folder's absolute path. */
export async function writeAssets(dir: string, cache: string, say: (text: string) => void): Promise<string> {
  const folder = resolve(dir);
  mkdirSync(folder, { recursive: true });
  const launcher = quoted(join(packageRoot(), 'bin/porthole'));
  for (const name of ['kube-apiserver', 'etcd']) {
    const script = `#!/bin/sh\n# Porthole as ${name}, for envtest.\nexec ${launcher} envtest ${name} "$@"\n`;
    await linuxFiles.write(join(folder, name), script, { mode: 0o755 });
  }
  const { kubectl } = await ensureKubectl(linuxProcesses, cache, say);
  rmSync(join(folder, 'kubectl'), { force: true });
  symlinkSync(kubectl, join(folder, 'kubectl'));
  return folder;
}
