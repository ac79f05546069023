// Processes by node:child_process.
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import type { Child, Processes, RunOptions, RunResult, SpawnOptions } from '../processes.ts';

const codeOf = (code: number | null, signal: NodeJS.Signals | null): number =>
  code ?? 128 + (signal ? constants.signals[signal] : 0);

function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env ? { ...process.env, ...options.env } : process.env,
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      timeout: options.timeoutMs ?? 60_000,
      killSignal: 'SIGKILL',
      ...(options.signal ? { signal: options.signal } : {}),
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout?.on('data', (data: Buffer) => stdout.push(data));
    child.stderr?.on('data', (data: Buffer) => stderr.push(data));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === null && signal === 'SIGKILL' && child.killed) {
        reject(
          new Error(
            `${command} ${args.join(' ')}: still running after ${options.timeoutMs ?? 60_000} ms, killed`,
          ),
        );
        return;
      }
      resolve({ code: codeOf(code, signal), stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr) });
    });
    if (options.input !== undefined) {
      child.stdin?.on('error', () => undefined); // the program may end without reading
      child.stdin?.end(options.input);
    }
  });
}

function start(command: string, args: readonly string[], options: SpawnOptions = {}): Child {
  const log = options.detached ? openSync(options.detached.logFile, 'a', 0o600) : undefined;
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: options.env ? { ...process.env, ...options.env } : process.env,
    detached: options.detached !== undefined,
    stdio: [
      ...(log === undefined ? (['pipe', 'pipe', 'pipe'] as const) : (['ignore', log, log] as const)),
      ...(options.shared === undefined ? [] : [options.shared]),
    ],
  });
  if (log !== undefined) closeSync(log);
  if (options.detached) child.unref();
  const exited = new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(codeOf(code, signal)));
  });
  return {
    pid: child.pid ?? -1,
    stdin: child.stdin ?? undefined,
    stdout: child.stdout ?? undefined,
    stderr: child.stderr ?? undefined,
    exited,
    kill: (signal = 'SIGTERM') => void child.kill(signal),
  };
}

export const linuxProcesses: Processes = { run, spawn: start };
