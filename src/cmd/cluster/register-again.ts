// Agents whose Node somebody deleted: a kubelet registers when it starts, so they are started again.
import { setTimeout as delay } from 'node:timers/promises';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { pauseProcess } from '../supervisor/pause-process.ts';
import { type RunningProcess, supervisedState } from '../supervisor/supervision.ts';
import type { ClusterPaths } from './cluster-state.ts';
import { endProcesses } from './own-processes.ts';
import { knownNodes } from './wait-ready.ts';

const graceMs = 10_000;
const lookEveryMs = 10;
const answerTimeoutMs = 30_000;
const agentPrefix = 'agent ';

const nodeOfAgent = ({ role }: Pick<RunningProcess, 'role'>): string | undefined =>
  role.startsWith(agentPrefix) ? role.slice(agentPrefix.length) : undefined;

/** Of the processes, agents that no Node stands for. Pure. */
export function agentsWithoutNode(
  running: readonly RunningProcess[],
  nodes: ReadonlySet<string>,
): RunningProcess[] {
  return running.filter((one) => {
    const node = nodeOfAgent(one);
    return node !== undefined && !nodes.has(node);
  });
}

export interface RegisterAgain {
  readonly paths: Pick<ClusterPaths, 'root' | 'kubeconfig'>;
  /** What ran before this command: an agent that it has started registers by itself. */
  readonly runningBefore: readonly RunningProcess[];
  readonly say: (text: string) => void;
}

/** A supervisor that hears of the end after the pause takes it for an accident. */
async function untilNoticed(root: string, { role, pid }: RunningProcess): Promise<void> {
  const until = performance.now() + graceMs;
  while (supervisedState(root, role)?.pid === pid && performance.now() < until) await delay(lookEveryMs);
}

/** Their pods come back as the scheduler says. For the holder of the cluster's lock. */
export async function registerAgain({ paths, runningBefore, say }: RegisterAgain): Promise<void> {
  if (!runningBefore.some((one) => nodeOfAgent(one) !== undefined)) return;
  const known = await knownNodes(paths.kubeconfig, answerTimeoutMs);
  for (const orphan of agentsWithoutNode(runningBefore, new Set(known.keys()))) {
    say(`  ${nodeOfAgent(orphan)}: its Node is gone; its agent starts again and registers it`);
    // As an end that was asked for: it counts as no accident.
    const resume = await pauseProcess(linuxProcesses, paths.root, orphan.role, 'porthole up');
    try {
      await endProcesses([orphan], graceMs);
      await untilNoticed(paths.root, orphan);
    } finally {
      resume();
    }
  }
}
