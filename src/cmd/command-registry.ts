// All commands, in the order of --help. A new one is a file in commands/ and a line here. Each is read when it is asked for.
import type { Command } from 'commander';

export const commands: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ['start', async () => (await import('./commands/start.ts')).startCommand()],
  ['stop', async () => (await import('./commands/stop.ts')).stopCommand()],
  ['up', async () => (await import('./commands/up.ts')).upCommand()],
  ['down', async () => (await import('./commands/down.ts')).downCommand()],
  ['status', async () => (await import('./commands/status.ts')).statusCommand()],
  ['node', async () => (await import('./commands/node.ts')).nodeCommand()],
  ['logs', async () => (await import('./commands/logs.ts')).logsCommand()],
  ['kubeconfig', async () => (await import('./commands/kubeconfig.ts')).kubeconfigCommand()],
  ['image', async () => (await import('./commands/image.ts')).imageCommand()],
  ['backup', async () => (await import('./commands/backup.ts')).backupCommand()],
  ['restore', async () => (await import('./commands/restore.ts')).restoreCommand()],
  ['repair', async () => (await import('./commands/repair.ts')).repairCommand()],
  ['envtest', async () => (await import('./commands/envtest.ts')).envtestCommand()],
  ['server', async () => (await import('./commands/server.ts')).serverCommand()],
  ['agent', async () => (await import('./commands/agent.ts')).agentCommand()],
  ['completion', async () => (await import('./commands/completion.ts')).completionCommand()],
  ['version', async () => (await import('./commands/version.ts')).versionCommand()],
]);
