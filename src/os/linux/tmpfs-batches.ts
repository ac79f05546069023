// File systems in memory, many by one program: each start of a program holds a large process for as long as its fork takes.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Processes, runOrThrow } from '../processes.ts';

interface Wanted {
  readonly target: string;
  /** `nosuid,mode=755`. */
  readonly flags: string;
  readonly done: PromiseWithResolvers<void>;
}

const escaped = (text: string): string =>
  text.replace(/[\s\\#]/g, (c) => `\\${c.charCodeAt(0).toString(8).padStart(3, '0')}`);

/** `isMounted`: whether one is there, to be asked when not all of several came to be. */
export function createTmpfsBatches(
  processes: Processes,
  isMounted: (target: string) => Promise<boolean>,
): (target: string, flags: string) => Promise<void> {
  let waiting: Wanted[] = [];
  let isBusy = false;

  const mountOne = async ({ target, flags }: Wanted): Promise<void> =>
    void (await runOrThrow(processes, 'mount', ['-t', 'tmpfs', '-o', flags, 'tmpfs', target]));

  /** True when all are there. */
  async function mountTogether(batch: readonly Wanted[]): Promise<boolean> {
    const folder = await mkdtemp(join(tmpdir(), 'porthole-mounts-'));
    try {
      const table = join(folder, 'fstab');
      const lines = batch.map(({ target, flags }) => `tmpfs ${escaped(target)} tmpfs ${flags} 0 0\n`);
      await writeFile(table, lines.join(''), { mode: 0o600 });
      return (await processes.run('mount', ['--all', '--fstab', table])).code === 0;
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  async function mountBatch(batch: readonly Wanted[]): Promise<void> {
    const all = batch.length > 1 && (await mountTogether(batch).catch(() => false));
    for (const wanted of batch) {
      // One by one: so each one's failure is told as its own.
      const work =
        all || (batch.length > 1 && (await isMounted(wanted.target).catch(() => false))) || mountOne(wanted);
      await Promise.resolve(work).then(() => wanted.done.resolve(), wanted.done.reject);
    }
  }

  async function mountWaiting(): Promise<void> {
    isBusy = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await mountBatch(batch).catch((error: unknown) => {
        for (const { done } of batch) done.reject(error);
      });
    }
    isBusy = false;
  }

  return (target, flags) => {
    const done = Promise.withResolvers<void>();
    waiting.push({ target, flags, done });
    if (!isBusy) void mountWaiting();
    return done.promise;
  };
}
