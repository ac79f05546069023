// porthole logs: what a cluster's server, an agent or its supervisor said.
import { Command, InvalidArgumentError } from 'commander';
import { noSuchCluster } from '../cluster/cluster-name.ts';
import { clusterPaths, readClusterState } from '../cluster/cluster-state.ts';
import { logNames, logsOf } from '../cluster/log-names.ts';
import { followLog, printLog } from '../cluster/print-log.ts';
import { portholeHome } from '../setup/locations.ts';

function lines(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0) throw new InvalidArgumentError('a whole number.');
  return number;
}

interface Flags {
  readonly name: string;
  readonly follow?: boolean;
  readonly tail?: number;
}

export function logsCommand(): Command {
  return new Command('logs')
    .description('print the log of the server, of a node, of the supervisor, or of the registry')
    .argument('[of]', `${logNames.join(', ')}, or the name of a node`, 'server')
    .option('--name <name>', 'name of the cluster', 'default')
    .option('-f, --follow', 'go on with what is written from now on')
    .option('--tail <lines>', 'only the last lines', lines)
    .action(async (of: string, flags: Flags) => {
      const paths = clusterPaths(portholeHome(), flags.name);
      const state = readClusterState(paths);
      if (!state) throw new Error(noSuchCluster(flags.name));
      const there = logsOf(state);
      if (!there.includes(of)) throw new Error(`${JSON.stringify(of)} is none of: ${there.join(', ')}`);
      const file = `${paths.logs}/${logNames.includes(of) ? of : `agent-${of}`}.log`;
      const write = (bytes: Buffer): boolean => process.stdout.write(bytes);
      const end = await printLog(file, flags.tail, write);
      if (flags.follow) await followLog(file, end, write);
    });
}
