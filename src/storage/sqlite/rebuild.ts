// Builds a store out of a state, so far ahead of the old one that nobody takes old revisions for new ones.
import { rmSync } from 'node:fs';
import type { Random } from '../../base/random.ts';
import type { BackupEntry } from '../backup/backup-format.ts';
import type { Revision } from '../storage.ts';
import { DurableStore } from './durable-store.ts';

/** As upstream advises for a restored etcd: further than a cluster comes between a backup and its loss. */
const epoch = 1_000_000_000;

/**
 * A new store in `directory`; what an earlier one left there is removed. Watches and lists from any revision up to
 * `highest`, and far beyond, are told that it is gone.
 */
export function buildStore(
  directory: string,
  entries: readonly BackupEntry[],
  highest: Revision,
  random: Random,
): Revision {
  rmSync(directory, { recursive: true, force: true });
  const revision = highest + epoch;
  const store = new DurableStore(directory, random);
  try {
    store.fill(entries, revision);
    store.start();
  } finally {
    store.close();
  }
  return revision;
}
