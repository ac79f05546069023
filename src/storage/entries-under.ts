// Lists of a prefix, whole or in pages, for drivers that hold their state in memory.
import type { SortedMap } from '../base/sorted-map.ts';
import type { EventLog } from './event-log.ts';
import type { Entry, Key, ListOptions, ListResult, Revision } from './storage.ts';

/**
 * By key, in the order of code units, which is the order of bytes for the names that Kubernetes allows. `now`: the
 * revision of `entries`. A page costs what it holds, and what was written since its revision. Throws CompactedError.
 */
export function entriesUnder(
  { entries, log, now }: { entries: SortedMap<Entry>; log: EventLog; now: Revision },
  prefix: Key,
  { revision = now, after = '', limit = Number.POSITIVE_INFINITY }: ListOptions = {},
): ListResult {
  const start = after < prefix ? prefix : `${after}\0`;
  const otherwise = revision === now ? undefined : log.statesAt(revision);
  const former = [...(otherwise?.values() ?? [])]
    .filter((entry) => entry !== undefined && entry.key >= start && entry.key.startsWith(prefix))
    .sort((a, b) => (a!.key < b!.key ? -1 : 1)) as Entry[];
  const found: Entry[] = [];
  let next = 0;
  const takeFormer = (before: Key | undefined): void => {
    while (next < former.length && (before === undefined || former[next]!.key < before))
      found.push(former[next++]!);
  };
  entries.walk(start, (key, entry) => {
    if (!key.startsWith(prefix)) return false;
    takeFormer(key);
    if (otherwise?.has(key) !== true) found.push(entry);
    return found.length <= limit;
  });
  if (found.length <= limit) takeFormer(undefined);
  return { entries: found.slice(0, limit), revision, more: found.length > limit };
}
