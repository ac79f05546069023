// Removes folders of ours that nothing is in any more.
import { rmdirSync } from 'node:fs';

const harmless: readonly unknown[] = ['ENOTEMPTY', 'EEXIST', 'ENOENT'];

export function removeIfEmpty(...folders: readonly string[]): void {
  for (const folder of folders)
    try {
      rmdirSync(folder);
    } catch (error) {
      if (!harmless.includes((error as NodeJS.ErrnoException).code)) throw error;
    }
}
