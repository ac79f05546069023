// porthole down: ends a cluster of this machine; nothing of it is left, or only what it has stored.
import { Command } from 'commander';
import { noSuchCluster } from '../cluster/cluster-name.ts';
import { down } from '../cluster/down.ts';
import { progressOnStderr } from '../progress.ts';
import { portholeHome } from '../setup/locations.ts';

export function downCommand(): Command {
  return new Command('down')
    .description('take a cluster of this machine down; nothing of it is left')
    .option('--name <name>', 'name of the cluster', 'default')
    .option('--keep', 'end all of it, and keep what it has stored: the next up goes on from there')
    .action(async (flags: { name: string; keep?: boolean }) => {
      const progress = progressOnStderr();
      const wasThere = await down({ ...flags, home: portholeHome() }, progress);
      if (!wasThere) throw new Error(noSuchCluster(flags.name));
      progress.say(
        flags.keep === true
          ? `cluster ${flags.name} is stopped; porthole up --name ${flags.name}, with the flags of its first time, goes on with it`
          : `cluster ${flags.name} is gone`,
      );
    });
}
