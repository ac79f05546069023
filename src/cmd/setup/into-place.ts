// A folder of the cache, filled before it is there: one that is half made is never seen.
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Fills a scratch folder beside `directory`, then renames it. */
export async function intoPlace(directory: string, fill: (scratch: string) => Promise<void>): Promise<void> {
  const parent = join(directory, '..');
  mkdirSync(parent, { recursive: true });
  const scratch = mkdtempSync(join(parent, '.new-'));
  try {
    await fill(scratch);
    chmodSync(scratch, 0o755);
    rmSync(directory, { recursive: true, force: true });
    renameSync(scratch, directory);
  } catch (cause) {
    rmSync(scratch, { recursive: true, force: true });
    throw cause;
  }
}
