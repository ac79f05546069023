// The long-running processes of a cluster, as its supervisor is told of them: the server first, then an agent a node.
import { join } from 'node:path';
import type { SupervisedProcess } from '../supervisor/supervision.ts';
import type { NodeRecord } from './cluster-state.ts';
import {
  type AgentArguments,
  agentArguments,
  type ServerArguments,
  serverArguments,
} from './process-arguments.ts';
import { selfCommand } from './self-command.ts';

export type ClusterProcesses = ServerArguments &
  Omit<AgentArguments, 'node'> & { readonly nodes: readonly NodeRecord[] };

export function clusterProcesses(options: ClusterProcesses): SupervisedProcess[] {
  const logOf = (role: string): string => join(options.paths.logs, `${role.replaceAll(' ', '-')}.log`);
  return [
    {
      role: 'server',
      command: selfCommand(serverArguments(options), undefined),
      logFile: logOf('server'),
    },
    // Agents start beside the server and wait for it: their containerd takes the same time as it does.
    ...options.nodes.map((node) => ({
      role: `agent ${node.name}`,
      command: selfCommand(agentArguments({ ...options, node }), node.netns),
      logFile: logOf(`agent ${node.name}`),
    })),
  ];
}
