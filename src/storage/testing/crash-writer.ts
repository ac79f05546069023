// A child process of the kill test: many writers; tells on stdout what was acknowledged. Run as a script.
import { writeSync } from 'node:fs';
import { openSqliteStorage } from '../sqlite/sqlite-storage.ts';
import { draftOf } from './storage-conformance.ts';

const directory = process.argv[2]!;
const round = process.argv[3]!;
const storage = await openSqliteStorage({ directory });

/** Waits while whoever reads is slow, as the pipe itself does until something of this process makes it non-blocking. */
function tell(line: string): void {
  const bytes = Buffer.from(line);
  for (let done = 0; done < bytes.length; ) {
    try {
      done += writeSync(1, bytes, done);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }
}

async function writer(id: number): Promise<never> {
  const key = `/registry/core/configmaps/default/w${id}`;
  for (let i = 0; ; i++) {
    const text = `${round}-${id}-${i}`;
    const current = await storage.get(key);
    const result =
      current === undefined
        ? await storage.create(key, draftOf(text))
        : i % 7 === 3
          ? await storage.delete(key, draftOf(text), current.revision)
          : await storage.update(key, draftOf(text), current.revision);
    if (!result.ok) throw new Error('one writer a key, yet a conflict');
    const deleted = current !== undefined && i % 7 === 3;
    // At once: what a stream still holds when the process is killed was acknowledged and is not told.
    tell(`${key} ${result.entry.revision} ${deleted ? '-' : text}\n`);
  }
}
await Promise.all(Array.from({ length: 16 }, (_, i) => writer(i)));
