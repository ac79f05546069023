// All commands, in the order of --help. A new one is a file in commands/ and a line here.
import type { Command } from 'commander';
import { agentCommand } from './commands/agent.ts';
import { backupCommand } from './commands/backup.ts';
import { downCommand } from './commands/down.ts';
import { imageCommand } from './commands/image.ts';
import { kubeconfigCommand } from './commands/kubeconfig.ts';
import { logsCommand } from './commands/logs.ts';
import { repairCommand } from './commands/repair.ts';
import { restoreCommand } from './commands/restore.ts';
import { serverCommand } from './commands/server.ts';
import { startCommand } from './commands/start.ts';
import { statusCommand } from './commands/status.ts';
import { stopCommand } from './commands/stop.ts';
import { upCommand } from './commands/up.ts';
import { versionCommand } from './commands/version.ts';

export const commands: readonly (() => Command)[] = [
  startCommand,
  stopCommand,
  upCommand,
  downCommand,
  statusCommand,
  logsCommand,
  kubeconfigCommand,
  imageCommand,
  backupCommand,
  restoreCommand,
  repairCommand,
  serverCommand,
  agentCommand,
  versionCommand,
];
