// porthole status: the clusters of this machine, their nodes and processes.
import { Command } from 'commander';
import { noSuchCluster } from '../cluster/cluster-name.ts';
import { type ClusterReport, nodesText, reportOf } from '../cluster/cluster-report.ts';
import { clusterNames, clusterPaths, readClusterState } from '../cluster/cluster-state.ts';
import { type Output, outputOption, tellList } from '../output-option.ts';
import { portholeHome } from '../setup/locations.ts';

export function statusCommand(): Command {
  return new Command('status')
    .description('show the clusters of this machine')
    .option('--name <name>', 'only this cluster')
    .addOption(outputOption())
    .action(async (flags: { name?: string; output?: Output }) => {
      const home = portholeHome();
      const names = clusterNames(home).filter((name) => flags.name === undefined || name === flags.name);
      const reports: ClusterReport[] = [];
      let isBlind = false;
      for (const name of names) {
        const report = await reportOrSay(home, name);
        if (report === 'unknown') isBlind = true;
        if (typeof report !== 'object') continue;
        reports.push(report);
      }
      if (isBlind) process.exitCode = 1;
      else if (reports.length === 0 && flags.name !== undefined) throw new Error(noSuchCluster(flags.name));
      const none = isBlind ? '' : 'no cluster in this home; make one with: porthole up';
      const text = reports.length === 0 ? none : reports.map(textOf).join('\n\n');
      tellList(flags.output, 'ClusterStatusList', reports, text);
    });
}

/** Undefined when there is no such cluster. One that can't be shown does not hide the others. */
async function reportOrSay(home: string, name: string): Promise<ClusterReport | 'unknown' | undefined> {
  try {
    const paths = clusterPaths(home, name);
    const state = readClusterState(paths);
    return state && (await reportOf(paths, state));
  } catch (error) {
    console.error(`porthole: cluster ${JSON.stringify(name)}: ${(error as Error).message}\n`);
    return 'unknown';
  }
}

function textOf({ name, phase, endpoint, runtime, topology, nodes, ...report }: ClusterReport): string {
  const word = phase === 'Running' ? '' : `${phase.toLowerCase()}, `;
  return [
    `${name}: ${word}${endpoint}, runtime ${runtime}, topology ${topology}`,
    nodesText(nodes, name),
    `server: ${[report.server.message, ...report.problems].join('; ')}`,
    ...(report.registry === undefined
      ? []
      : [`registry ${report.registry.host}: ${report.registry.message}`]),
    `supervisor: ${report.supervisor.message}`,
    `logs: porthole logs [server|NODE] --name ${name}`,
  ].join('\n');
}
