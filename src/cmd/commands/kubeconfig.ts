// porthole kubeconfig: prints a cluster's kubeconfig, or its path, or merges it into one's own.
import { existsSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { withClusterLock } from '../cluster/cluster-lock.ts';
import { noSuchCluster } from '../cluster/cluster-name.ts';
import { clusterPaths, readClusterState } from '../cluster/cluster-state.ts';
import { mergeCluster } from '../cluster/user-kubeconfig.ts';
import { kubeconfigOption, type MergeFlags, mergeFileOf, sayContext } from '../kubeconfig-options.ts';
import { progressOnStderr } from '../progress.ts';
import { portholeHome } from '../setup/locations.ts';

interface Flags extends MergeFlags {
  readonly name: string;
  readonly path: boolean;
}

/** The file, which is there. */
function kubeconfigOf(name: string): string {
  const paths = clusterPaths(portholeHome(), name);
  if (existsSync(paths.kubeconfig)) return paths.kubeconfig;
  throw new Error(
    readClusterState(paths)
      ? `${paths.kubeconfig} is gone; porthole up --name ${name}, with the flags of its first time, writes it again`
      : noSuchCluster(name),
  );
}

async function merge(name: string, kubeconfig: string | undefined): Promise<void> {
  const progress = progressOnStderr();
  const home = portholeHome();
  kubeconfigOf(name);
  const file = mergeFileOf({ ...(kubeconfig === undefined ? {} : { kubeconfig }) });
  if (file === undefined)
    throw new Error(`$KUBECONFIG is a cluster's own file: --kubeconfig names another one`);
  const context = await withClusterLock(linuxProcesses, { home, name }, progress, async () => {
    const state = readClusterState(clusterPaths(home, name));
    if (!state) throw new Error(noSuchCluster(name));
    return mergeCluster(state, home, file);
  });
  sayContext(progress, context, file);
}

export function kubeconfigCommand(): Command {
  return new Command('kubeconfig')
    .description("print a cluster's kubeconfig")
    .option('--name <name>', 'name of the cluster', 'default')
    .option('--path', 'print the path of the file instead', false)
    .option('--merge', "merge it into your own, as 'up' does, and make it the current context")
    .addOption(kubeconfigOption())
    .action(async ({ name, path, merge: isMerged, kubeconfig }: Flags, command: Command) => {
      if (isMerged === true) return merge(name, kubeconfig);
      if (kubeconfig !== undefined) command.error('error: --kubeconfig says where to --merge it');
      const file = kubeconfigOf(name);
      process.stdout.write(path ? `${file}\n` : readFileSync(file));
    });
}
