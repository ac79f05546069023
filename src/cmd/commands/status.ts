// porthole status: the clusters of this machine, their nodes and processes.
import { Command } from 'commander';
import { clusterNames, clusterPaths, readClusterState } from '../cluster/cluster-state.ts';
import { isAlive } from '../cluster/own-processes.ts';
import { printTable } from '../print-table.ts';
import { portholeHome } from '../setup/locations.ts';

export function statusCommand(): Command {
  return new Command('status')
    .description('show the clusters of this machine')
    .option('--name <name>', 'only this cluster')
    .action((flags: { name?: string }) => {
      const home = portholeHome();
      const states = clusterNames(home)
        .filter((name) => flags.name === undefined || name === flags.name)
        .flatMap((name) => readClusterState(clusterPaths(home, name)) ?? []);
      if (states.length === 0) {
        console.log(
          flags.name === undefined
            ? 'no cluster on this machine; make one with: porthole up'
            : `there is no cluster ${JSON.stringify(flags.name)}`,
        );
        return;
      }
      for (const state of states) {
        console.log(`${state.name}: ${state.server}, runtime ${state.runtime}, topology ${state.topology}`);
        printTable(
          ['NODE', 'OS', 'ADDRESS', 'AGENT'],
          state.nodes.map((node) => {
            const agent = state.processes.find((process) => process.role === `agent ${node.name}`);
            const os =
              node.windowsBuild === undefined ? node.os : `${node.os} ${node.windowsBuild} (emulated)`;
            return [node.name, os, node.ip, agent && isAlive(agent) ? `pid ${agent.pid}` : 'not running'];
          }),
        );
        const server = state.processes.find((process) => process.role === 'server');
        console.log(`server: ${server && isAlive(server) ? `pid ${server.pid}` : 'not running'}\n`);
      }
    });
}
