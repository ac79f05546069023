// porthole node: nodes of a cluster that is up, added, removed and listed.
import { Argument, Command, Option } from 'commander';
import { addNode, removeNode } from '../cluster/change-nodes.ts';
import { noSuchCluster } from '../cluster/cluster-name.ts';
import { nodesText, reportOf } from '../cluster/cluster-report.ts';
import { clusterPaths, type NodeRecord, readClusterState } from '../cluster/cluster-state.ts';
import { duration, durationOption } from '../duration-option.ts';
import { type Output, outputOption, tellList } from '../output-option.ts';
import { progressOnStderr } from '../progress.ts';
import { portholeCache, portholeHome } from '../setup/locations.ts';
import { windowsBuildOption } from '../windows-options.ts';

interface Flags {
  readonly name: string;
}

const whereOf = ({ name }: Flags): { name: string; home: string; cache: string } => ({
  name,
  home: portholeHome(),
  cache: portholeCache(),
});

interface AddFlags extends Flags {
  readonly os: NodeRecord['os'];
  readonly windowsBuild: number;
  readonly windowsTaint?: boolean;
}

function addCommand(): Command {
  return new Command('add')
    .description(
      'add a node to a cluster that is up; returns when it is Ready and has what porthole image put into others of its kind',
    )
    .argument('[node]', 'its name; default: the next that is free, as linux-2')
    .option('--name <name>', 'name of the cluster', 'default')
    .addOption(
      new Option('--os <name>', 'windows is emulated').choices(['linux', 'windows']).default('linux'),
    )
    .addOption(
      windowsBuildOption('--build, --windows-build', 'build that a Windows node reports and programs see'),
    )
    .option('--windows-taint', 'taint a Windows node with os=windows:NoSchedule')
    .action(async (node: string | undefined, flags: AddFlags, command: Command) => {
      const { os, windowsBuild, windowsTaint } = flags;
      const isAsked = command.getOptionValueSource('windowsBuild') === 'cli' || windowsTaint === true;
      if (os === 'linux' && isAsked) command.error('error: --build and --windows-taint are for --os windows');
      const kind = os === 'windows' ? { os, windowsBuild } : { os };
      const taint = windowsTaint === true ? { windowsTaint } : {};
      const added = await addNode(whereOf(flags), { node, ...kind, ...taint }, progressOnStderr());
      console.log(added.name);
    });
}

interface RemoveFlags extends Flags {
  readonly force?: boolean;
  readonly timeout: number;
}

function removeCommand(): Command {
  return new Command('remove')
    .description(
      'empty a node as kubectl drain --ignore-daemonsets --delete-emptydir-data does, and take it out of its cluster with all that it has stored; pods without a controller stop it',
    )
    .addArgument(new Argument('<node>', 'its name'))
    .option('--name <name>', 'name of the cluster', 'default')
    .option('--force', 'delete its pods at once, also without a controller: no budget holds them, no grace')
    .addOption(durationOption('timeout', 'how long its pods may take to leave', duration('2m')))
    .action(async (node: string, flags: RemoveFlags) => {
      const progress = progressOnStderr();
      const { force = false, timeout: timeoutMs } = flags;
      await removeNode({ ...whereOf(flags), node, force, timeoutMs }, progress);
      progress.say(`node ${node} is gone from cluster ${flags.name}`);
    });
}

function listCommand(): Command {
  return new Command('list')
    .alias('ls')
    .description("list a cluster's nodes")
    .option('--name <name>', 'name of the cluster', 'default')
    .addOption(outputOption())
    .action(async ({ name, output }: Flags & { output?: Output }) => {
      const paths = clusterPaths(portholeHome(), name);
      const state = readClusterState(paths);
      if (!state) throw new Error(noSuchCluster(name));
      const { nodes } = await reportOf(paths, state);
      tellList(output, 'NodeStatusList', nodes, nodesText(nodes, name));
    });
}

export function nodeCommand(): Command {
  return new Command('node')
    .description('nodes of a cluster that is up')
    .addCommand(addCommand())
    .addCommand(removeCommand())
    .addCommand(listCommand());
}
