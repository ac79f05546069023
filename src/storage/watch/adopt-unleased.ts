// Objects of a kind that lives for a time, but were stored when none did: they get their lease by being written once more.
import { draftAgain } from '../stamp.ts';
import type { Entry, Storage } from '../storage.ts';
import type { SharedLeases } from './shared-leases.ts';

/** So many are under way at once: others write meanwhile. */
const atOnce = 500;

export async function adoptUnleased(
  storage: Storage,
  leases: SharedLeases,
  entries: readonly Entry[],
  ttlMs: number,
): Promise<void> {
  const unleased = entries.filter(({ lease }) => lease === undefined);
  for (let at = 0; at < unleased.length; at += atOnce)
    await Promise.all(
      unleased.slice(at, at + atOnce).map(async ({ key, value, revision }) => {
        const lease = await leases.get(ttlMs);
        // One that was written since has its own, or is gone.
        await storage.update(key, { ...draftAgain(value), lease }, revision);
      }),
    );
}
