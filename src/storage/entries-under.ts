// Lists of a prefix, whole or in pages, for drivers that hold their state in a map.
import type { EventLog } from './event-log.ts';
import type { Entry, Key, ListOptions, ListResult, Revision } from './storage.ts';

/**
 * By key, in the order of code units, which is the order of bytes for the names that Kubernetes allows. `now`: the
 * revision of `entries`. Throws CompactedError.
 */
export function entriesUnder(
  { entries, log, now }: { entries: ReadonlyMap<Key, Entry>; log: EventLog; now: Revision },
  prefix: Key,
  { revision = now, after = '', limit = Number.POSITIVE_INFINITY }: ListOptions = {},
): ListResult {
  const otherwise = revision === now ? undefined : log.statesAt(revision);
  const found: Entry[] = [];
  const add = (entry: Entry): void => {
    if (entry.key > after && entry.key.startsWith(prefix)) found.push(entry);
  };
  for (const entry of entries.values()) if (otherwise?.has(entry.key) !== true) add(entry);
  for (const entry of otherwise?.values() ?? []) if (entry !== undefined) add(entry);
  found.sort((a, b) => (a.key < b.key ? -1 : 1));
  return { entries: found.slice(0, limit), revision, more: found.length > limit };
}
