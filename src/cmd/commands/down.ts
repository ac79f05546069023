// porthole down: ends a cluster of this machine; nothing of it is left.
import { Command } from 'commander';
import { noSuchCluster } from '../cluster/cluster-name.ts';
import { down } from '../cluster/down.ts';
import { createProgress } from '../progress.ts';
import { portholeHome } from '../setup/locations.ts';

export function downCommand(): Command {
  return new Command('down')
    .description('take a cluster of this machine down; nothing of it is left')
    .option('--name <name>', 'name of the cluster', 'default')
    .action(async (flags: { name: string }) => {
      const progress = createProgress(process.stderr, () => performance.now());
      const wasThere = await down({ name: flags.name, home: portholeHome() }, progress);
      if (!wasThere) throw new Error(noSuchCluster(flags.name));
      progress.say(`cluster ${flags.name} is gone`);
    });
}
