// What the shells' scripts ask for at each TAB: candidates, one a line, each with a tab and what it is.
import { type ClusterState, clusterNames, clusterPaths, readClusterState } from '../cluster/cluster-state.ts';
import { logsOf } from '../cluster/log-names.ts';
import { commands } from '../command-registry.ts';
import { createProgram } from '../program.ts';
import { portholeHome } from '../setup/locations.ts';
import { candidatesAt, type ThingsThere } from './candidates.ts';

/** Nobody who presses TAB wants to read why. */
function ifKnown(names: () => readonly string[] | undefined): readonly string[] {
  try {
    return names() ?? [];
  } catch {
    return [];
  }
}

const clusterOf = (cluster: string): ClusterState | undefined =>
  readClusterState(clusterPaths(portholeHome(), cluster));

const there: ThingsThere = {
  clusters: () => ifKnown(() => clusterNames(portholeHome())),
  nodes: (cluster) => ifKnown(() => clusterOf(cluster)?.nodes.map(({ name }) => name)),
  logs: (cluster) =>
    ifKnown(() => {
      const state = clusterOf(cluster);
      return state && logsOf(state);
    }),
};

export async function printCandidates(words: readonly string[]): Promise<void> {
  const [first] = words;
  const program = await createProgram(words.length > 1 && commands.has(first ?? '') ? first : undefined);
  const found = candidatesAt(program, words, there);
  const lines =
    found === 'files'
      ? [':files']
      : found.map(({ value, description = '' }) => `${value}\t${description.split('\n')[0]}`);
  process.stdout.write(lines.map((line) => `${line}\n`).join(''));
}
