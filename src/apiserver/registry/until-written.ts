// A write begins with what the cache has. What an old cache refuses or loses is tried again with what the store has.
import { conflict, optimisticLock, StatusError } from '../../apimachinery/errors.ts';
import type { CachedObject } from '../../storage/watch/resource-cache.ts';
import type { StoredResource } from './stored-resource.ts';

/** Others were faster this often: somebody else must give way. */
const attempts = 20;

/**
 * `attempt` is given the object, or undefined when the store has none, and answers 'raced' when it was written meanwhile.
 * Another server's writes reach the cache later than the store, so only what the store has may be the reason of a refusal.
 * A failure is none: what failed may have been written, and is not done a second time.
 */
export async function untilWritten<T>(
  store: StoredResource,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  attempt: (current: CachedObject | undefined) => Promise<T | 'raced'>,
): Promise<T> {
  const { cache, declaration } = store;
  let isFresh = cache.get(namespace, name) === undefined;
  for (let left = attempts; left > 0; left--) {
    if (isFresh) await cache.fresh();
    const current = cache.get(namespace, name);
    try {
      const outcome = await attempt(current);
      if (outcome !== 'raced') return outcome;
    } catch (error) {
      if (isFresh || current === undefined) throw error;
      if (!(error instanceof StatusError) || error.code >= 500) throw error;
      if (await store.isNewest(namespace, name, current)) throw error;
    }
    isFresh = true;
  }
  throw conflict(declaration, name, optimisticLock);
}
