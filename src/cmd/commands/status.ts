// porthole status: the clusters of this machine, their nodes and processes.
import { Command } from 'commander';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { noSuchCluster } from '../cluster/cluster-name.ts';
import { clusterNames, clusterPaths, readClusterState } from '../cluster/cluster-state.ts';
import { isAlive } from '../cluster/own-processes.ts';
import { printTable } from '../print-table.ts';
import { portholeHome } from '../setup/locations.ts';
import { processText } from '../supervisor/process-text.ts';
import { livingSupervisor, repairSupervisor } from '../supervisor/supervise-cluster.ts';
import { supervisedProcesses, supervisedState } from '../supervisor/supervision.ts';

export function statusCommand(): Command {
  return new Command('status')
    .description('show the clusters of this machine')
    .option('--name <name>', 'only this cluster')
    .action(async (flags: { name?: string }) => {
      const home = portholeHome();
      const states = clusterNames(home)
        .filter((name) => flags.name === undefined || name === flags.name)
        .flatMap((name) => readClusterState(clusterPaths(home, name)) ?? []);
      if (states.length === 0) {
        if (flags.name !== undefined) throw new Error(noSuchCluster(flags.name));
        console.log('no cluster in this home; make one with: porthole up');
        return;
      }
      for (const state of states) {
        const { root } = clusterPaths(home, state.name);
        const repaired = state.ending !== true && (await repairSupervisor(linuxProcesses, root));
        const textOf = (role: string): string => {
          const process = supervisedState(root, role);
          const running = supervisedProcesses(root)?.find((one) => one.role === role);
          return processText(process, running !== undefined && isAlive(running), Date.now());
        };
        console.log(`${state.name}: ${state.server}, runtime ${state.runtime}, topology ${state.topology}`);
        printTable(
          ['NODE', 'OS', 'ADDRESS', 'AGENT'],
          state.nodes.map((node) => {
            const os =
              node.windowsBuild === undefined ? node.os : `${node.os} ${node.windowsBuild} (emulated)`;
            return [node.name, os, node.ip, textOf(`agent ${node.name}`)];
          }),
        );
        console.log(`server: ${textOf('server')}`);
        const supervisor = livingSupervisor(root);
        console.log(
          `supervisor: ${supervisor ? `pid ${supervisor.pid}` : 'not running'}${repaired ? ', started again: it was gone' : ''}`,
        );
        console.log(`logs: porthole logs [server|NODE] --name ${state.name}\n`);
      }
    });
}
