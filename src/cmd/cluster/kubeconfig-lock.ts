// client-go's lock on a kubeconfig, a file beside it. Ours says whose it is, so that one whose holder was killed keeps nobody waiting.
import { linkSync, mkdirSync, readFileSync, readlinkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { asOwnerOf } from '../../os/as-owner.ts';
import { startTicksOf } from './own-processes.ts';

const patienceMs = 5_000;
const lookEveryMs = 20;

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** Process numbers mean something within one namespace of them only. */
const numbering = (): string => readlinkSync('/proc/self/ns/pid');

/** client-go's says nothing, and is whoever's. */
function isOfTheDead(holder: string): boolean {
  const [where, pid, startTicks, ...more] = holder.split(' ');
  if (startTicks === undefined || more.length > 0 || where !== numbering()) return false;
  return startTicksOf(Number(pid)) !== startTicks;
}

function removeOfTheDead(lock: string): void {
  try {
    const holder = readFileSync(lock, 'utf8');
    if (!isOfTheDead(holder)) return;
    const aside = `${lock}.${process.pid}`;
    renameSync(lock, aside);
    try {
      // Another command may have removed it and taken its own since the look.
      if (readFileSync(aside, 'utf8') !== holder) linkSync(aside, lock);
    } finally {
      rmSync(aside);
    }
  } catch (error) {
    if (!['ENOENT', 'EEXIST', 'EACCES', 'EISDIR'].includes(codeOf(error) ?? '')) throw error;
  }
}

function isTaken(lock: string): boolean {
  mkdirSync(dirname(lock), { recursive: true, mode: 0o755 });
  try {
    writeFileSync(lock, `${numbering()} ${process.pid} ${startTicksOf(process.pid)}`, {
      flag: 'wx',
      mode: 0o600,
    });
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    removeOfTheDead(lock);
    return false;
  }
}

/** Whoever else writes it by client-go's rules waits, or fails; so do we. Throws Error with the next step after 5 s. */
export async function withKubeconfigLock(file: string, body: () => void): Promise<void> {
  const lock = `${file}.lock`;
  const isDone = (): boolean => {
    if (!isTaken(lock)) return false;
    try {
      body();
    } finally {
      rmSync(lock, { force: true });
    }
    return true;
  };
  const until = performance.now() + patienceMs;
  while (!asOwnerOf(file, isDone)) {
    if (performance.now() > until)
      throw Object.assign(new Error(`${file} is locked by another program`), {
        next: `try again; if nothing writes it, a program was killed while it did: rm ${lock}`,
      });
    await delay(lookEveryMs);
  }
}
