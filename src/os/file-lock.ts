// One at a time across processes: a lock that the kernel gives back when its holder dies, whatever the pid namespace.
import { closeSync, fchmodSync, fstatSync, openSync, statSync } from 'node:fs';
import type { Processes } from './processes.ts';

export interface FileLock {
  release(): void;
}

export interface FileLockOptions {
  /** False: whoever finds it taken is told at once. */
  readonly wait: boolean;
  /** Makes the file's folder, which may be removed together with the file by whoever holds the lock. */
  readonly makeFolder?: () => void;
}

/** False when whoever had the lock removed the file: others lock another one by now. */
function isAt(file: number, path: string): boolean {
  const [ours, there] = [fstatSync(file), statSync(path, { throwIfNoEntry: false })];
  return there !== undefined && there.ino === ours.ino && there.dev === ours.dev;
}

/** Whoever may open a file may hold its lock: an earlier version made them readable by all. */
function keepToOwner(file: number): void {
  const { uid, mode } = fstatSync(file);
  if (uid === process.geteuid?.() && (mode & 0o077) !== 0) fchmodSync(file, 0o600);
}

/** The lock belongs to our open file, which `flock` shares for a moment: nobody else has to run for it. */
export async function takeFileLock(
  processes: Processes,
  path: string,
  { wait, makeFolder }: FileLockOptions,
): Promise<FileLock | undefined> {
  for (;;) {
    makeFolder?.();
    let file: number;
    try {
      file = openSync(path, 'a', 0o600);
    } catch (error) {
      if (makeFolder !== undefined && (error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      throw error;
    }
    let kept = false;
    try {
      keepToOwner(file);
      const taking = processes.spawn('flock', ['--exclusive', ...(wait ? [] : ['--nonblock']), '3'], {
        shared: file,
      });
      const code = await taking.exited;
      if (code === 1 && !wait) return undefined;
      if (code !== 0) throw new Error(`flock ${path}: exit code ${code}`);
      kept = isAt(file, path);
      if (kept) return { release: () => closeSync(file) };
    } finally {
      if (!kept) closeSync(file);
    }
  }
}

/** Runs `body` while holding an exclusive lock on the file. */
export async function withFileLock<T>(
  processes: Processes,
  path: string,
  body: () => Promise<T>,
  makeFolder?: () => void,
): Promise<T> {
  const lock = await takeFileLock(processes, path, { wait: true, ...(makeFolder ? { makeFolder } : {}) });
  try {
    return await body();
  } finally {
    lock?.release();
  }
}
