// Puts a state into a folder as a new store, so far ahead of the old one that nobody takes old revisions for new ones.
import { existsSync, renameSync, rmSync } from 'node:fs';
import type { Random } from '../../base/random.ts';
import type { BackupEntry } from '../backup/backup-format.ts';
import type { Revision } from '../storage.ts';
import { DurableStore } from './durable-store.ts';

/** As upstream advises for a restored etcd: further than a cluster comes between a backup and its loss. */
const epoch = 1_000_000_000;

/**
 * Replaces the store in `directory`, which nobody may have open. What was there is kept at `aside`.
 * Watches and lists from any revision up to `highest`, and far beyond, are told that it is gone.
 */
export function rebuildStore(
  directory: string,
  aside: string,
  entries: readonly BackupEntry[],
  highest: Revision,
  random: Random,
): Revision {
  const fresh = `${directory}.new`;
  // Left by a rebuilding that did not come to its end.
  rmSync(fresh, { recursive: true, force: true });
  const revision = highest + epoch;
  const store = new DurableStore(fresh, random);
  try {
    store.fill(entries, revision);
    store.start();
  } finally {
    store.close();
  }
  if (existsSync(directory)) renameSync(directory, aside);
  renameSync(fresh, directory);
  return revision;
}
