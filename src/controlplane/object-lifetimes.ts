// Objects that the store deletes by itself some time after their last write.

/** Upstream's --event-ttl. Events of both versions are stored as those of the core group. */
export const defaultEventTtlMs = 3_600_000;

export const objectLifetimes = (eventTtlMs: number = defaultEventTtlMs): ReadonlyMap<string, number> =>
  new Map([['/registry/core/events/', eventTtlMs]]);
