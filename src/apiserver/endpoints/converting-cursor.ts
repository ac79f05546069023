// The events of a kind whose versions only a webhook can tell, each given when it is converted: for watches, which are
// pulled and can't wait.
import type { CachedObject, CacheEvent, WatchCursor } from '../../storage/watch/resource-cache.ts';
import type { RemoteVersions } from '../registry/remote-versions.ts';

/** Events that are taken from the ring to be asked for together. */
const together = 64;

/** An event as another version has it. */
class ConvertedEvent implements CacheEvent {
  readonly type: CacheEvent['type'];
  readonly object: CachedObject;
  readonly previous: CachedObject | undefined;
  readonly revision: number;
  readonly frames: Map<string, Buffer> = new Map();

  constructor({ type, revision }: CacheEvent, object: CachedObject, previous: CachedObject | undefined) {
    this.type = type;
    this.revision = revision;
    this.object = object;
    this.previous = previous;
  }

  forgetFrames(): void {
    this.frames.clear();
  }

  takeObject(): undefined {
    return undefined;
  }
}

/** Those who watch the same version share its events, and so what is written of them. */
const shared = new WeakMap<RemoteVersions, WeakMap<CacheEvent, ConvertedEvent>>();

function sharedEvents(remote: RemoteVersions): WeakMap<CacheEvent, ConvertedEvent> {
  const known = shared.get(remote) ?? new WeakMap<CacheEvent, ConvertedEvent>();
  shared.set(remote, known);
  return known;
}

export class ConvertingCursor implements WatchCursor {
  readonly #cursor: WatchCursor;
  readonly #remote: RemoteVersions;
  /** A selector asks of an object what it was before, too. */
  readonly #withPrevious: boolean;
  readonly #events: WeakMap<CacheEvent, ConvertedEvent>;
  #ready: CacheEvent[] = [];
  /** Taken from the ring, and being converted, or could not be: nobody was told of them. */
  #taken: readonly CacheEvent[] = [];
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;
  #isClosed = false;

  constructor(cursor: WatchCursor, remote: RemoteVersions, withPrevious: boolean) {
    this.#cursor = cursor;
    this.#remote = remote;
    this.#withPrevious = withPrevious;
    this.#events = sharedEvents(remote);
  }

  next(): CacheEvent | undefined {
    const ready = this.#ready.shift();
    if (ready !== undefined) return ready;
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#taken.length === 0) this.#take();
    return this.#ready.shift();
  }

  revision(): number {
    const [waiting] = this.#ready.length > 0 ? this.#ready : this.#taken;
    return waiting === undefined ? this.#cursor.revision() : waiting.revision - 1;
  }

  onEvent(callback: () => void): void {
    if (this.#ready.length > 0 || this.#failure !== undefined) queueMicrotask(callback);
    else if (this.#taken.length > 0) this.#wake = callback;
    else this.#cursor.onEvent(callback);
  }

  close(): void {
    this.#isClosed = true;
    this.#cursor.close();
    this.#wake = undefined;
  }

  #take(): void {
    const events: CacheEvent[] = [];
    try {
      for (let event = this.#cursor.next(); event !== undefined; event = this.#cursor.next()) {
        events.push(event);
        if (events.length === together) break;
      }
    } catch (error) {
      if (events.length === 0) throw error;
      this.#failure = { error };
    }
    // Until one has to be converted they are there already.
    const first = events.findIndex((event) => !this.#isServed(event));
    this.#ready = first < 0 ? events : events.slice(0, first);
    this.#taken = first < 0 ? [] : events.slice(first);
    if (first >= 0) void this.#convert(this.#taken);
  }

  #isServed({ object, previous }: CacheEvent): boolean {
    const isServed = ({ value }: CachedObject): boolean => this.#remote.isServed(value);
    return isServed(object) && (!this.#withPrevious || previous === undefined || isServed(previous));
  }

  async #convert(events: readonly CacheEvent[]): Promise<void> {
    try {
      this.#ready.push(...(await this.#converted(events)));
      this.#taken = [];
    } catch (error) {
      this.#failure = { error };
    }
    const wake = this.#wake;
    this.#wake = undefined;
    if (!this.#isClosed) wake?.();
  }

  async #converted(events: readonly CacheEvent[]): Promise<CacheEvent[]> {
    const objects = await this.#remote.items(events.map(({ object }) => object));
    if (!this.#withPrevious)
      return events.map((event, i) => {
        const object = objects[i]!;
        if (object === event.object) return event;
        const known = this.#events.get(event) ?? new ConvertedEvent(event, object, event.previous);
        this.#events.set(event, known);
        return known;
      });
    const before = events.flatMap(({ previous }) => (previous === undefined ? [] : [previous]));
    const previous = await this.#remote.items(before);
    let next = 0;
    return events.map(
      (event, i) =>
        new ConvertedEvent(event, objects[i]!, event.previous === undefined ? undefined : previous[next++]),
    );
  }
}
