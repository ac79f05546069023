// One at a time across processes: a lock that the kernel gives back when its holder dies, whatever the pid namespace.
import type { Processes } from './processes.ts';

/**
 * Runs `body` while holding an exclusive lock on the file. The lock is held by `flock` around a `cat` that lives as long as
 * our end of its input: a crash of ours ends it.
 */
export async function withFileLock<T>(
  processes: Processes,
  lockFile: string,
  body: () => Promise<T>,
): Promise<T> {
  const holder = processes.spawn('flock', ['--exclusive', lockFile, 'cat']);
  const { stdin, stdout } = holder;
  if (!stdin || !stdout) throw new Error('flock has no pipes');
  try {
    await new Promise<void>((resolve, reject) => {
      stdin.on('error', reject);
      stdout.once('data', () => resolve());
      holder.exited.then(
        (code) => reject(new Error(`flock ${lockFile}: exit code ${code}`)),
        (error: unknown) => reject(error),
      );
      stdin.write('held\n');
    });
    return await body();
  } finally {
    stdin.end();
    await holder.exited.catch(() => undefined);
  }
}
