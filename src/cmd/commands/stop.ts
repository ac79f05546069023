// porthole stop: what `npm stop` runs.
import { Command } from 'commander';
import { down } from '../cluster/down.ts';
import { createProgress } from '../progress.ts';
import { portholeHome } from '../setup/locations.ts';

export function stopCommand(): Command {
  return new Command('stop')
    .description('take the cluster of npm start down; nothing of it is left (npm stop)')
    .option('--name <name>', 'name of the cluster', 'default')
    .action(async ({ name }: { name: string }) => {
      const progress = createProgress(process.stderr, () => performance.now());
      const wasThere = await down({ name, home: portholeHome() }, progress);
      progress.say(wasThere ? 'the cluster is gone; nothing is left' : 'there is no cluster to stop');
    });
}
