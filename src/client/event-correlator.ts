// Keeps events few: as client-go's correlator it drops spam, combines similar events and counts equal ones.

export interface EventFacts {
  readonly source: string;
  /** `kind/namespace/name/uid/apiVersion` of what the event is about. */
  readonly about: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

export type Correlation =
  | { readonly action: 'drop' }
  | { readonly action: 'create'; readonly key: string; readonly message: string }
  | { readonly action: 'count'; readonly key: string; readonly message: string; readonly count: number };

// Upstream's figures: a burst of 25 an object, then one in five minutes; ten similar ones in ten minutes are combined.
const spamBurst = 25;
const spamRefillMs = 300_000;
const combineFrom = 10;
const combineWindowMs = 600_000;
const combinedPrefix = '(combined from similar events): ';
const maxRemembered = 4096;

interface Bucket {
  tokens: number;
  at: number;
}
interface Similar {
  messages: Set<string>;
  lastAt: number;
}

/** A map that forgets what was touched longest ago. */
function touch<V>(map: Map<string, V>, key: string, make: () => V): V {
  const value = map.get(key) ?? make();
  map.delete(key);
  map.set(key, value);
  if (map.size > maxRemembered) {
    const [oldest] = map.keys();
    if (oldest !== undefined) map.delete(oldest);
  }
  return value;
}

export class EventCorrelator {
  readonly #buckets = new Map<string, Bucket>();
  readonly #similar = new Map<string, Similar>();
  readonly #counts = new Map<string, { count: number }>();

  correlate(facts: EventFacts, now: number): Correlation {
    const { source, about, type, reason } = facts;
    const bucket = touch(this.#buckets, `${source}\0${about}`, () => ({ tokens: spamBurst, at: now }));
    bucket.tokens = Math.min(spamBurst, bucket.tokens + (now - bucket.at) / spamRefillMs);
    bucket.at = now;
    if (bucket.tokens < 1) return { action: 'drop' };
    bucket.tokens -= 1;

    const group = [source, about, type, reason].join('\0');
    const similar = touch(this.#similar, group, () => ({ messages: new Set(), lastAt: now }));
    if (now - similar.lastAt > combineWindowMs) similar.messages.clear();
    similar.lastAt = now;
    similar.messages.add(facts.message);
    const combined = similar.messages.size >= combineFrom;
    const message = combined ? combinedPrefix + facts.message : facts.message;
    const key = combined ? group : `${group}\0${message}`;

    const seen = touch(this.#counts, key, () => ({ count: 0 }));
    seen.count += 1;
    return seen.count === 1
      ? { action: 'create', key, message }
      : { action: 'count', key, message, count: seen.count };
  }

  /** The counted event is gone from the server: the next one is created anew. */
  forget(key: string): void {
    this.#counts.delete(key);
  }
}
