// Looks at what is stored whenever that changes, and, while something could not be done about it, again without any change.
import { type Backoff, backoffMs } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { ResourceCache } from '../storage/watch/resource-cache.ts';
import { followCache } from './follow-cache.ts';

const backoff: Backoff = { firstMs: 500, longestMs: 60_000 };

/**
 * One look at a time, the first at once; what changes meanwhile is looked at after it. `look` resolves with whether all was done;
 * rejecting is not doing it. The result ends it.
 */
export function lookAfterChanges(
  clock: Clock,
  caches: readonly ResourceCache[],
  look: (isClosed: () => boolean) => Promise<boolean>,
): () => void {
  let isLooking = false;
  let isDue = false;
  let isClosed = false;
  let failures = 0;
  let cancel = (): void => {};
  const begin = async (): Promise<void> => {
    isDue = true;
    if (isLooking) return;
    isLooking = true;
    cancel();
    let isDone = true;
    while (isDue && !isClosed) {
      isDue = false;
      isDone = await look(() => isClosed).catch(() => false);
    }
    isLooking = false;
    failures = isDone ? 0 : failures + 1;
    // Nobody may ever change anything again.
    if (!isDone && !isClosed) cancel = clock.timer(backoffMs(backoff, failures), () => void begin());
  };
  const stops = caches.map((cache) => followCache(cache, () => void begin()));
  void begin();
  return () => {
    isClosed = true;
    cancel();
    for (const stop of stops) stop();
  };
}
