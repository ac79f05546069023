// A whole list, fetched in pages of one revision: no answer of a store is larger than a page.
import type { Entry, Key, Revision, Storage } from './storage.ts';

/** As the longest page that upstream asks etcd for. */
const pageEntries = 10_000;

/** Throws CompactedError when the store forgets the revision between two pages. */
export async function listWhole(
  storage: Pick<Storage, 'list'>,
  prefix: Key,
  limit: number = pageEntries,
): Promise<{ readonly entries: readonly Entry[]; readonly revision: Revision }> {
  const first = await storage.list(prefix, { limit });
  if (!first.more) return first;
  const { revision } = first;
  const entries = [...first.entries];
  for (let more: boolean = first.more; more; ) {
    const page = await storage.list(prefix, { limit, revision, after: entries.at(-1)!.key });
    for (const entry of page.entries) entries.push(entry);
    more = page.more;
  }
  return { entries, revision };
}
