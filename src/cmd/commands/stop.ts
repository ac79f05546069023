// porthole stop: what `npm stop` runs.
import { Command } from 'commander';
import { clusterNames } from '../cluster/cluster-state.ts';
import { down } from '../cluster/down.ts';
import { progressOnStderr } from '../progress.ts';
import { portholeHome } from '../setup/locations.ts';

export function stopCommand(): Command {
  return new Command('stop')
    .description('take the cluster of npm start down; nothing of it is left (npm stop)')
    .option('--name <name>', 'name of the cluster', 'default')
    .action(async ({ name }: { name: string }) => {
      const progress = progressOnStderr();
      const wasThere = await down({ name, home: portholeHome() }, progress);
      const others = clusterNames(portholeHome()).map((other) => `npm stop -- --name ${other}`);
      if (!wasThere && others.length > 0)
        throw new Error(
          `there is no cluster ${JSON.stringify(name)} to stop, but others are: ${others.join(', ')}`,
        );
      progress.say(wasThere ? 'the cluster is gone; nothing is left' : 'there is no cluster to stop');
    });
}
