// porthole kubeconfig: prints a cluster's kubeconfig, or its path.
import { existsSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { clusterPaths } from '../cluster/cluster-state.ts';
import { portholeHome } from '../setup/locations.ts';

export function kubeconfigCommand(): Command {
  return new Command('kubeconfig')
    .description("print a cluster's kubeconfig")
    .option('--name <name>', 'name of the cluster', 'default')
    .option('--path', 'print the path of the file instead', false)
    .action((flags: { name: string; path: boolean }) => {
      const { kubeconfig } = clusterPaths(portholeHome(), flags.name);
      if (!existsSync(kubeconfig))
        throw new Error(
          `there is no cluster ${JSON.stringify(flags.name)}; make it with: porthole up --name ${flags.name}`,
        );
      process.stdout.write(flags.path ? `${kubeconfig}\n` : readFileSync(kubeconfig));
    });
}
