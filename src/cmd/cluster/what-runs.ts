// The processes of a cluster that are there: those of its record, and those that were started before an `up` could write them down.
import { processesWithArgument } from '../../kubelet/containerd/process-table.ts';
import type { Files } from '../../os/files.ts';
import type { RunningProcess } from '../supervisor/supervision.ts';
import type { ClusterPaths, ClusterState } from './cluster-state.ts';
import { isAlive, recordOf } from './own-processes.ts';
import { registryRoles } from './registries/local-registry.ts';

/** What follows `--data-dir` says whose process it is: the folder is the cluster's own. */
function roleOf(args: readonly string[], roles: ReadonlyMap<string, string>): string | undefined {
  const at = args.indexOf('--data-dir');
  const role = at < 0 ? undefined : roles.get(args[at + 1] ?? '');
  return role !== undefined && args.includes(role.split(' ')[0]!) ? role : undefined;
}

function recordIfThere(role: string, pid: number): RunningProcess[] {
  try {
    return [recordOf(role, pid)];
  } catch {
    return []; // it ended meanwhile
  }
}

/** By the configuration file that each has for itself. */
async function registriesThere(files: Files, paths: ClusterPaths): Promise<RunningProcess[]> {
  const found: RunningProcess[] = [];
  for (const [config, role] of registryRoles(paths))
    for (const { pid, args } of await processesWithArgument(files, config))
      if (args.at(-2) === 'serve') found.push(...recordIfThere(role, pid));
  return found;
}

export async function runningProcesses(
  files: Files,
  paths: ClusterPaths,
  state: ClusterState,
): Promise<RunningProcess[]> {
  const recorded = state.processes.filter(isAlive);
  const roles = new Map([
    [paths.server, 'server'],
    ...state.nodes.map((node): [string, string] => [paths.node(node.name), `agent ${node.name}`]),
  ]);
  const isRecorded = ({ pid }: { readonly pid: number }): boolean => recorded.some((one) => one.pid === pid);
  const registries = state.registryPort === undefined ? [] : await registriesThere(files, paths);
  const found = (await processesWithArgument(files, '--data-dir'))
    .filter((one) => !isRecorded(one))
    .flatMap(({ pid, args }) => {
      const role = roleOf(args, roles);
      return role === undefined ? [] : recordIfThere(role, pid);
    });
  return [...recorded, ...found, ...registries.filter((one) => !isRecorded(one))];
}
