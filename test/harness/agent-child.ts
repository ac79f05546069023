// A real `porthole agent` with a simulated runtime as a child process.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { bundle } from './server-child.ts';

export interface AgentChildOptions {
  readonly nodeName: string;
  readonly nodeIp: string;
  readonly kubeconfig: string;
  readonly dataDir: string;
  readonly port: number;
  readonly env?: Readonly<Record<string, string>>;
}

export interface AgentChild {
  readonly pid: number;
  /** What it wrote to standard error. */
  said(): string;
  /** SIGKILL, and gone. */
  kill(): Promise<void>;
}

export function startAgentChild(options: AgentChildOptions): AgentChild {
  const { nodeName, nodeIp, kubeconfig, dataDir, port, env } = options;
  const args = ['--node-name', nodeName, '--node-ip', nodeIp, '--kubeconfig', kubeconfig];
  args.push('--data-dir', dataDir, '--port', String(port), '--runtime', 'simulated');
  const child = spawn(process.execPath, [bundle(), 'agent', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env },
  });
  assert.ok(child.pid !== undefined, 'the agent was not started');
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  const ended = once(child, 'close');
  return {
    pid: child.pid,
    said: () => said,
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
