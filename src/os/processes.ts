// Running programs, as a port. Arguments are always a list: there is no shell anywhere.
import type { Readable, Writable } from 'node:stream';

export interface RunResult {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

export interface RunOptions {
  readonly input?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The program is killed after this; the run then throws. Default 60,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface Child {
  readonly pid: number;
  readonly stdin: Writable | undefined;
  readonly stdout: Readable | undefined;
  readonly stderr: Readable | undefined;
  /** Resolves with the exit code (128 + signal number when killed). */
  readonly exited: Promise<number>;
  kill(signal?: 'SIGTERM' | 'SIGKILL' | 'SIGINT' | 'SIGHUP'): void;
}

export interface SpawnOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Own session, not ended with us; stdio goes to `logFile`. */
  readonly detached?: { readonly logFile: string };
  /** An open file of ours that the program has, too, as its number 3. */
  readonly shared?: number;
}

export interface Processes {
  /** Runs to the end. A non-zero code is a result, not an error; a missing program throws. */
  run(command: string, args: readonly string[], options?: RunOptions): Promise<RunResult>;
  spawn(command: string, args: readonly string[], options?: SpawnOptions): Child;
}

/** A program that had to succeed did not. */
export class CommandError extends Error {
  readonly result: RunResult;
  constructor(command: string, args: readonly string[], result: RunResult) {
    const said = result.stderr.toString().trim() || result.stdout.toString().trim();
    super(
      `${command} ${args.join(' ')}: exit code ${result.code}${said === '' ? '' : `: ${said.slice(-2000)}`}`,
    );
    this.name = 'CommandError';
    this.result = result;
  }
}

/** Runs and throws CommandError unless the code is 0. Returns stdout as text. */
export async function runOrThrow(
  processes: Processes,
  command: string,
  args: readonly string[],
  options?: RunOptions,
): Promise<string> {
  const result = await processes.run(command, args, options);
  if (result.code !== 0) throw new CommandError(command, args, result);
  return result.stdout.toString();
}
