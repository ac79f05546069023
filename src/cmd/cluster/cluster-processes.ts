// The long-running processes of a cluster, as its supervisor is told of them: the server first, then an agent a node.
import { join } from 'node:path';
import type { LivenessCheck } from '../supervisor/liveness.ts';
import type { SupervisedProcess } from '../supervisor/supervision.ts';
import type { NodeRecord } from './cluster-state.ts';
import { kubeletPortFile, nodeLayout } from './node-layout.ts';
import {
  type AgentArguments,
  agentArguments,
  type ServerArguments,
  serverArguments,
} from './process-arguments.ts';
import { selfCommand } from './self-command.ts';

/** A large store takes its time; nothing takes so long. An agent may wait for the server as long as that is away. */
const serverStartSeconds = 600;

export type ClusterProcesses = ServerArguments &
  Omit<AgentArguments, 'node'> & { readonly nodes: readonly NodeRecord[] };

export function clusterProcesses(options: ClusterProcesses): SupervisedProcess[] {
  const logOf = (role: string): string => join(options.paths.logs, `${role.replaceAll(' ', '-')}.log`);
  return [
    {
      role: 'server',
      command: selfCommand(serverArguments(options), undefined),
      logFile: logOf('server'),
      liveness: {
        host: '127.0.0.1',
        port: options.port,
        path: '/livez',
        mayRefuse: true,
        startSeconds: serverStartSeconds,
      },
    },
    // Agents start beside the server and wait for it: their containerd takes the same time as it does.
    ...options.nodes.map((node) => ({
      role: `agent ${node.name}`,
      command: selfCommand(agentArguments({ ...options, node }), node.netns),
      logFile: logOf(`agent ${node.name}`),
      liveness: livenessOf(node, options.paths.node(node.name)),
    })),
  ];
}

function livenessOf({ netns, ip }: NodeRecord, root: string): LivenessCheck {
  // A node that is cut off from the machine has an agent that is well.
  if (netns !== undefined) return { socket: nodeLayout(root).agentSocket };
  // It says to nobody without a name how it is; it is enough that it says so.
  return { host: ip, port: { file: kubeletPortFile(root) }, path: '/healthz', anyAnswer: true };
}
