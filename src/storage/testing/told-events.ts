// A watcher of tests: goes on where it was when its watch ends, as every user of a store must.
import type { Key, Revision, Storage, StorageEvent, WatchEnd } from '../storage.ts';

export class ToldEvents {
  readonly events: StorageEvent[] = [];
  /** Resolves when the watch can't go on: it was closed, or what it needs is forgotten. */
  readonly ended: Promise<WatchEnd>;
  /** Everything up to here was told. */
  upTo: Revision;
  readonly #waiting = new Set<() => void>();
  #stop: () => void = () => {};

  constructor(storage: Pick<Storage, 'watch'>, prefix: Key, from: Revision) {
    this.upTo = from;
    this.ended = this.#follow(storage, prefix);
  }

  async #follow(storage: Pick<Storage, 'watch'>, prefix: Key): Promise<WatchEnd> {
    for (;;) {
      const watch = storage.watch(prefix, this.upTo, (events, revision) => {
        this.events.push(...events);
        this.upTo = revision;
        for (const look of this.#waiting) look();
      });
      this.#stop = watch.close;
      const end = await watch.ended;
      if (end.reason === 'closed' || end.reason === 'compacted') return end;
    }
  }

  /** All events, once those up to `revision` were told. */
  until(revision: Revision): Promise<readonly StorageEvent[]> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.upTo < revision) return;
        this.#waiting.delete(look);
        resolve(this.events);
      };
      this.#waiting.add(look);
      look();
    });
  }

  close(): void {
    this.#stop();
  }
}
