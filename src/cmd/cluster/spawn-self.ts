// Starts this command line again as a long-running process of a cluster.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Processes } from '../../os/processes.ts';
import { selfArguments } from '../setup/package-root.ts';
import type { ProcessRecord } from './cluster-state.ts';
import { recordOf } from './own-processes.ts';

export interface SpawnSelf {
  readonly role: string;
  readonly args: readonly string[];
  readonly logs: string;
  /** Network namespace to run in. */
  readonly netnsPath?: string | undefined;
}

/** The process is detached: it lives on when we end. Its output goes to `<logs>/<role>.log`. */
export function spawnSelf(
  processes: Processes,
  options: SpawnSelf,
): ProcessRecord & { readonly logFile: string } {
  mkdirSync(options.logs, { recursive: true, mode: 0o700 });
  const logFile = join(options.logs, `${options.role.replaceAll(' ', '-')}.log`);
  const command = [process.execPath, ...selfArguments(), ...options.args];
  const [program, ...args] =
    options.netnsPath === undefined ? command : ['nsenter', `--net=${options.netnsPath}`, '--', ...command];
  const child = processes.spawn(program!, args, { detached: { logFile } });
  child.exited.catch(() => undefined); // a program that can't start shows in its log and in the wait for it
  return { ...recordOf(options.role, child.pid), logFile };
}
