// What a controller has asked for and not yet seen in its informers; until then its view is known to be old.
import type { Clock } from '../base/clock.ts';

/** Upstream's ExpectationsTimeout: an event that never comes must not block a key for ever. */
const expireAfterMs = 5 * 60_000;

interface Expected {
  creations: number;
  readonly deletions: Set<string>;
  at: number;
}

export class Expectations {
  readonly #clock: Clock;
  readonly #expected = new Map<string, Expected>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  #of(key: string): Expected {
    let expected = this.#expected.get(key);
    if (expected === undefined) {
      expected = { creations: 0, deletions: new Set(), at: 0 };
      this.#expected.set(key, expected);
    }
    expected.at = this.#clock.monotonic();
    return expected;
  }

  expectCreations(key: string, count: number): void {
    this.#of(key).creations += count;
  }
  expectDeletions(key: string, uids: readonly string[]): void {
    const { deletions } = this.#of(key);
    for (const uid of uids) deletions.add(uid);
  }
  creationObserved(key: string): void {
    const expected = this.#expected.get(key);
    if (expected === undefined) return;
    if (expected.creations > 0) expected.creations -= 1;
    this.#tidy(key, expected);
  }
  deletionObserved(key: string, uid: string): void {
    const expected = this.#expected.get(key);
    if (expected === undefined) return;
    expected.deletions.delete(uid);
    this.#tidy(key, expected);
  }
  satisfied(key: string): boolean {
    const expected = this.#expected.get(key);
    return expected === undefined || this.#clock.monotonic() - expected.at > expireAfterMs;
  }
  forget(key: string): void {
    this.#expected.delete(key);
  }

  #tidy(key: string, expected: Expected): void {
    if (expected.creations === 0 && expected.deletions.size === 0) this.#expected.delete(key);
  }
}
