// porthole kubeconfig: prints a cluster's kubeconfig, or its path.
import { existsSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { clusterPaths, readClusterState } from '../cluster/cluster-state.ts';
import { portholeHome } from '../setup/locations.ts';

export function kubeconfigCommand(): Command {
  return new Command('kubeconfig')
    .description("print a cluster's kubeconfig")
    .option('--name <name>', 'name of the cluster', 'default')
    .option('--path', 'print the path of the file instead', false)
    .action((flags: { name: string; path: boolean }) => {
      const paths = clusterPaths(portholeHome(), flags.name);
      const { kubeconfig } = paths;
      if (!existsSync(kubeconfig))
        throw new Error(
          readClusterState(paths)
            ? `${kubeconfig} is gone; porthole up --name ${flags.name}, with the flags of its first time, writes it again`
            : `there is no cluster ${JSON.stringify(flags.name)}; make it with: porthole up --name ${flags.name}`,
        );
      process.stdout.write(flags.path ? `${kubeconfig}\n` : readFileSync(kubeconfig));
    });
}
