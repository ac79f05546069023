// The list of a prefix, for drivers that hold their state in a map.
import type { Entry, Key } from './storage.ts';

/** By key, in the order of code units, which is the order of bytes for the names that Kubernetes allows. */
export function entriesUnder(entries: ReadonlyMap<Key, Entry>, prefix: Key): Entry[] {
  const found: Entry[] = [];
  for (const entry of entries.values()) if (entry.key.startsWith(prefix)) found.push(entry);
  return found.sort((a, b) => (a.key < b.key ? -1 : 1));
}
