// The processes of a cluster that are there: those of its record, and those that were started before an `up` could write them down.
import { readlinkSync, statSync } from 'node:fs';
import { processesWithArgument } from '../../kubelet/containerd/process-table.ts';
import type { Files } from '../../os/files.ts';
import type { RunningProcess } from '../supervisor/supervision.ts';
import type { ClusterPaths, ClusterState } from './cluster-state.ts';
import { isAlive, recordOf } from './own-processes.ts';

/**
 * Whether a process is of our kind: our user's, in our namespaces. Anybody may give a program of theirs the arguments of a
 * server, in a pod too; it would be taken for one and keep the real one from being started.
 */
export function isOurs(pid: number): boolean {
  const namespaceOf = (who: string, kind: string): string => readlinkSync(`/proc/${who}/ns/${kind}`);
  try {
    return (
      statSync(`/proc/${pid}`).uid === process.getuid?.() &&
      ['pid', 'mnt'].every((kind) => namespaceOf(String(pid), kind) === namespaceOf('self', kind))
    );
  } catch {
    return false; // it ended meanwhile, or is none of our business
  }
}

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
  const found = (await processesWithArgument(files, '--data-dir'))
    .filter(({ pid }) => isOurs(pid) && !recorded.some((one) => one.pid === pid))
    .flatMap(({ pid, args }) => {
      const role = roleOf(args, roles);
      return role === undefined ? [] : recordIfThere(role, pid);
    });
  return [...recorded, ...found];
}
