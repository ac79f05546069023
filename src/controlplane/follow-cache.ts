// Tells of changes in a cache, by what changed.
import { CompactedError } from '../storage/storage.ts';
import type { CachedObject, ResourceCache } from '../storage/watch/resource-cache.ts';

export type Seen = CachedObject['index'];

/** `changed` is called after changes; undefined: more than is remembered. The result ends it, and so does the cache's end. */
export function followCache(
  cache: ResourceCache,
  changed: (seen: readonly Seen[] | undefined) => void,
): () => void {
  let cursor = cache.watch(cache.currentRevision(), '');
  let isClosed = false;
  const listen = (): void => {
    const seen: Seen[] = [];
    let lost = false;
    try {
      for (let event = cursor.next(); event !== undefined; event = cursor.next())
        seen.push(event.object.index);
    } catch (error) {
      if (!(error instanceof CompactedError)) throw error;
      cursor.close();
      cursor = cache.watch(cache.currentRevision(), '');
      lost = true;
    }
    if (isClosed) return;
    cursor.onEvent(listen);
    if (lost) changed(undefined);
    else if (seen.length > 0) changed(seen);
  };
  cursor.onEvent(listen);
  return () => {
    isClosed = true;
    cursor.close();
  };
}
