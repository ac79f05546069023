// A watcher's place in a ring: it holds a number, not a queue, so a slow watcher costs nothing.
import type { Key, Revision } from '../storage.ts';
import { CompactedError } from '../storage.ts';
import type { EventRing } from './event-ring.ts';
import type { CacheEvent, WatchCursor } from './resource-cache.ts';

export class RingCursor implements WatchCursor {
  readonly #ring: EventRing;
  readonly #prefix: Key;
  readonly #current: () => Revision;
  readonly #onClose: (cursor: RingCursor) => void;
  readonly #from: Revision;
  #sequence: number;
  #seen: Revision;
  #callback: (() => void) | undefined;

  constructor(
    ring: EventRing,
    from: Revision,
    prefix: Key,
    current: () => Revision,
    onClose: (cursor: RingCursor) => void,
  ) {
    this.#ring = ring;
    this.#prefix = prefix;
    this.#current = current;
    this.#onClose = onClose;
    this.#sequence = ring.after(from);
    this.#seen = from;
    this.#from = from;
  }

  next(): CacheEvent | undefined {
    if (this.#sequence < this.#ring.first) throw new CompactedError(this.#seen, this.#ring.floor);
    while (this.#sequence < this.#ring.next) {
      const event = this.#ring.at(this.#sequence++);
      if (event.revision <= this.#from) continue;
      this.#seen = event.revision;
      if (event.object.key.startsWith(this.#prefix)) return event;
    }
    this.#seen = Math.max(this.#seen, this.#current());
    return undefined;
  }

  revision(): Revision {
    return this.#seen;
  }

  onEvent(callback: () => void): void {
    this.#callback = callback;
    if (this.#sequence < this.#ring.next) queueMicrotask(() => this.wake());
  }

  /** Called by the cache after a commit. */
  wake(): void {
    const callback = this.#callback;
    this.#callback = undefined;
    callback?.();
  }

  close(): void {
    this.#callback = undefined;
    this.#onClose(this);
  }
}
