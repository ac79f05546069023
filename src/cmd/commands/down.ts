// porthole down: ends a cluster of this machine; nothing of it is left.
import { Command } from 'commander';
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
      progress.say(
        wasThere ? `cluster ${flags.name} is gone` : `there is no cluster ${JSON.stringify(flags.name)}`,
      );
    });
}
