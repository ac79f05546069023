// One watcher: pulls events from its place in the ring when its client can take more, and holds nothing itself.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { StatusError } from '../../apimachinery/errors.ts';
import type { Clock } from '../../base/clock.ts';
import type { Ending } from '../../base/ending.ts';
import type { Turns } from '../../base/turns.ts';
import { withRevision } from '../../storage/stamp.ts';
import type { CachedObject, CacheEvent, Predicate, WatchCursor } from '../../storage/watch/resource-cache.ts';
import { storeStatus } from '../../storage/watch/store-status.ts';
import type { PullBody } from '../http.ts';
import { statusObject } from '../response.ts';
import {
  bookmarkFrame,
  eventFrame,
  type FrameFormat,
  objectFrame,
  storedFrame,
  storedPieces,
} from './watch-frames.ts';

export interface WatchBodyOptions {
  readonly clock: Clock;
  /** Where long initial states take turns with each other and all other long work. */
  readonly turns: Pick<Turns, 'call'>;
  readonly format: FrameFormat;
  readonly cursor: WatchCursor;
  readonly matches: Predicate | undefined;
  /** Objects that are sent as ADDED before anything else. */
  readonly initial: readonly CachedObject[];
  /** Revision of the bookmark that ends the initial objects; undefined: there is none. */
  readonly initialEnd: number | undefined;
  readonly bookmarks: boolean;
  readonly timeoutMs: number;
  /** Ends it as its time does: what is watched is served otherwise from then on. */
  readonly ends?: Pick<Ending, 'isOver' | 'onEnd'> | undefined;
}

/** As upstream's cacher: about once a minute. */
const bookmarkEveryMs = 60_000;

/** As upstream: a watcher that does not read is ended, and begins again where it was. */
const stallMs = 60_000;

const none: Buffer[] = [];

export class WatchBody implements PullBody {
  readonly stallMs: number = stallMs;
  /** When the objects of the beginning have been pulled, or never will be; undefined: there are none. */
  readonly initialized: Promise<void> | undefined;
  readonly #options: Omit<WatchBodyOptions, 'initial'>;
  #initial: readonly CachedObject[];
  #initialAt = 0;
  #initialEnd: number | undefined;
  #first = true;
  #over = false;
  #ended = false;
  #bookmarkDue = false;
  #bookmarked: number;
  #wake: (() => void) | undefined;
  #cancelTimeout: () => void;
  readonly #forgetEnding: (() => void) | undefined;
  #cancelBookmark: () => void = () => {};
  /** What comes next and was not pulled yet, and what follows it. */
  #kept: Buffer | undefined;
  #pieces: Buffer[] = none;
  #drained = false;
  /** While it sends the objects of the beginning, each pull but the first waits for a turn. */
  #begun: (() => void) | undefined;
  #hasTurn = true;

  constructor({ initial, ...options }: WatchBodyOptions) {
    this.#options = options;
    this.#initial = initial;
    this.#initialEnd = options.initialEnd;
    this.#bookmarked = options.initialEnd ?? 0;
    if (initial.length > 0)
      this.initialized = new Promise((resolve) => {
        this.#begun = resolve;
      });
    this.#cancelTimeout = options.clock.timer(options.timeoutMs, () => {
      this.#bookmarkDue = options.bookmarks;
      this.#over = true;
      this.#fire();
    });
    if (options.bookmarks) this.#armBookmark();
    this.#forgetEnding = options.ends?.onEnd(() => this.#stop());
    if (options.ends?.isOver === true) {
      // What it would begin with was read before, and may already be stored as it is not to be served.
      this.#initial = [];
      this.#initialEnd = undefined;
      this.#stop();
    }
  }

  #stop(): void {
    this.#bookmarkDue = false;
    this.#over = true;
    this.#fire();
  }

  #armBookmark(): void {
    this.#cancelBookmark = this.#options.clock.timer(bookmarkEveryMs, () => {
      this.#bookmarkDue = true;
      this.#armBookmark();
      this.#fire();
    });
  }

  readonly #fire = (): void => {
    this.#drained = false;
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  };

  pull(maxBytes: number): Buffer | undefined | null {
    if (this.#ended) return null;
    if (this.#drained) {
      // The last pull saw the end of what there was; the one who waits is woken if there is more.
      this.#drained = false;
      return undefined;
    }
    if (this.#begun !== undefined && !this.#hasTurn) return undefined;
    const bytes = this.#pullPiece(maxBytes);
    if (this.#begun !== undefined) this.#hasTurn = false;
    return bytes;
  }

  #pullPiece(maxBytes: number): Buffer | undefined | null {
    const first = this.#peek();
    if (first === undefined) {
      if (!this.#over) return undefined;
      this.#end();
      return null;
    }
    if (first.length > maxBytes) {
      this.#kept = first.subarray(maxBytes);
      return first.subarray(0, maxBytes);
    }
    this.#kept = undefined;
    let frames: Buffer[] | undefined;
    let size = first.length;
    while (size < maxBytes) {
      const frame = this.#peek();
      if (frame === undefined) {
        this.#drained = !this.#over;
        break;
      }
      if (size + frame.length > maxBytes) break;
      this.#kept = undefined;
      frames ??= [first];
      frames.push(frame);
      size += frame.length;
    }
    return frames === undefined ? first : joined(frames, size);
  }

  #peek(): Buffer | undefined {
    this.#kept ??= this.#pieces.shift() ?? this.#next();
    return this.#kept;
  }

  onReady(callback: () => void): void {
    this.#wake = callback;
    if (this.#begun !== undefined) {
      this.#options.turns.call(() => {
        this.#hasTurn = true;
        this.#fire();
      });
      return;
    }
    if (this.#over) {
      queueMicrotask(() => this.#fire());
      return;
    }
    this.#options.cursor.onEvent(this.#fire);
  }

  close(): void {
    this.#end();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#over = true;
    this.#cancelTimeout();
    this.#cancelBookmark();
    this.#forgetEnding?.();
    this.#options.cursor.close();
    this.#begin();
  }

  /** What it began with may be changed and deleted from now on, and is not to be held by a watch. */
  #begin(): void {
    if (this.#begun === undefined) return;
    this.#initial = [];
    this.#begun();
    this.#begun = undefined;
  }

  #next(): Buffer | undefined {
    const { format } = this.#options;
    const initial = this.#initial[this.#initialAt];
    if (initial !== undefined) {
      this.#initialAt++;
      return this.#nextInitial(initial.value);
    }
    if (this.#initialEnd !== undefined) {
      const revision = this.#initialEnd;
      this.#initialEnd = undefined;
      return bookmarkFrame(format, revision, true);
    }
    this.#begin();
    // It may be told of that later than it would see what is stored since.
    if (this.#options.ends?.isOver === true) {
      this.#bookmarkDue = false;
      this.#over = true;
    }
    const event = this.#over ? undefined : this.#nextEvent();
    if (event !== undefined) return event;
    return this.#bookmark();
  }

  #nextInitial(value: Buffer): Buffer {
    const { format } = this.#options;
    const pieces = storedPieces(format, 'ADDED', value);
    if (pieces === undefined) return storedFrame(format, 'ADDED', value, this.#isFirst());
    const [first, ...rest] = pieces;
    this.#pieces = rest;
    return first!;
  }

  /** True once: the first frame of a table carries the columns. */
  #isFirst(): boolean {
    const first = this.#first;
    this.#first = false;
    return first;
  }

  #bookmark(): Buffer | undefined {
    if (!this.#bookmarkDue) return undefined;
    this.#bookmarkDue = false;
    const revision = this.#options.cursor.revision();
    if (revision <= this.#bookmarked) return undefined;
    this.#bookmarked = revision;
    return bookmarkFrame(this.#options.format, revision, false);
  }

  #nextEvent(): Buffer | undefined {
    try {
      for (let event = this.#options.cursor.next(); event; event = this.#options.cursor.next()) {
        const frame = this.#frameOf(event);
        if (frame) return frame;
      }
      return undefined;
    } catch (error) {
      this.#over = true;
      this.#bookmarkDue = false;
      return errorFrame(this.#options.format, error);
    }
  }

  /** What a watcher with a selector sees: objects that begin or cease to match come and go. */
  #frameOf(event: CacheEvent): Buffer | undefined {
    const { matches, format } = this.#options;
    const { object, previous } = event;
    if (matches === undefined) return this.#send(event, event.type);
    const before = previous !== undefined && matches(previous.index);
    if (event.type === 'DELETED')
      return (previous ? before : matches(object.index)) ? this.#send(event, 'DELETED') : undefined;
    const after = matches(object.index);
    if (after) return this.#send(event, before ? 'MODIFIED' : 'ADDED');
    if (!before) return undefined;
    return storedFrame(format, 'DELETED', withRevision(previous!.value, event.revision), this.#isFirst());
  }

  #send(event: CacheEvent, type: CacheEvent['type']): Buffer {
    return eventFrame(this.#options.format, event, type, event.object.value, this.#isFirst());
  }
}

let lastJoined: { readonly frames: readonly Buffer[]; readonly bytes: Buffer } | undefined;

/** Watchers that were woken together take the same frames: they share the bytes of them all, too. */
function joined(frames: readonly Buffer[], size: number): Buffer {
  const known = lastJoined;
  if (known?.frames.length === frames.length && frames.every((frame, i) => frame === known.frames[i]))
    return known.bytes;
  const bytes = Buffer.concat(frames, size);
  lastJoined = { frames, bytes };
  return bytes;
}

export function errorFrame(format: FrameFormat, error: unknown): Buffer {
  const told = storeStatus(error);
  const status =
    told instanceof StatusError
      ? told
      : new StatusError(500, 'InternalError', error instanceof Error ? error.message : String(error));
  return objectFrame(format, 'ERROR', statusObject(status) as JsonObject);
}

/** A stream that says one thing and ends: how upstream refuses a revision that is too old. */
export class SingleFrame implements PullBody {
  #frame: Buffer | undefined;
  constructor(frame: Buffer) {
    this.#frame = frame;
  }
  pull(): Buffer | null {
    const frame = this.#frame ?? null;
    this.#frame = undefined;
    return frame;
  }
  onReady(callback: () => void): void {
    queueMicrotask(callback);
  }
  close(): void {
    this.#frame = undefined;
  }
}
