// A client that watches a real server and writes down what it is told, over cut connections, ends and refusals.
import assert from 'node:assert/strict';
import type { WatchEvent } from '../../src/client/client.ts';
import type { Transport } from '../../src/client/transport.ts';
import { readAll } from '../../src/client/transport.ts';
import { watchEvents } from '../../src/client/watch-stream.ts';
import type { Frame, State, WatchRecord } from './checkers/watch.ts';

export const stateOf = (object: Stored): State => ({
  value: object.data?.v ?? '',
  group: object.metadata.labels?.group ?? '',
});

export interface Stored {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly labels?: Record<string, string>;
    readonly annotations?: Record<string, string>;
  };
  readonly data?: Record<string, string>;
}

/** Objects that a list, or the beginning of a watch, showed as of a revision. */
export interface Shown {
  readonly revision: number;
  readonly objects: ReadonlyMap<string, State>;
  readonly selects: WatchRecord['selects'];
}
export interface Gone {
  readonly from: number;
  /** What the refusal names as forgotten. */
  readonly floor: number;
}

export interface Selection {
  readonly query: string;
  readonly selects: WatchRecord['selects'];
}

export class RecordedWatcher {
  readonly #selection: Selection;
  readonly #path: string;
  readonly records: WatchRecord[] = [];
  readonly shown: Shown[] = [];
  readonly gone: Gone[] = [];
  /** Up to where it knows all. */
  at = 0;

  constructor(path: string, selection: Selection) {
    this.#path = path;
    this.#selection = selection;
  }

  #url(query: Readonly<Record<string, string | number | boolean>>): string {
    const { query: selector } = this.#selection;
    const rest = Object.entries(query).map(([name, value]) => `${name}=${value}`);
    return `${this.#path}?${[...rest, ...(selector === '' ? [] : [selector])].join('&')}`;
  }

  async list(transport: Transport): Promise<void> {
    const response = await transport.request({
      method: 'GET',
      path: this.#url({}),
      headers: {},
      timeoutMs: 60_000,
    });
    assert.equal(response.status, 200);
    const list = JSON.parse((await readAll(response.body, 1 << 30)).toString()) as {
      readonly metadata: { readonly resourceVersion: string };
      readonly items: readonly Stored[];
    };
    this.at = Number(list.metadata.resourceVersion);
    this.#show(new Map(list.items.map((item) => [item.metadata.name, stateOf(item)])));
  }

  #show(objects: ReadonlyMap<string, State>): void {
    this.shown.push({ revision: this.at, objects, selects: this.#selection.selects });
  }

  /** Begins with all objects and a bookmark, as streaming lists do. */
  async begin(transport: Transport, frames: number): Promise<void> {
    const objects = new Map<string, State>();
    const options = {
      sendInitialEvents: true,
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: true,
      timeoutSeconds: 2,
    };
    const told: Frame[] = [];
    let begun: number | undefined;
    for await (const event of this.#events(transport, options)) {
      assert.notEqual(event.type, 'ERROR', JSON.stringify(event));
      const { metadata } = event.object as Stored;
      if (begun !== undefined) told.push(frameOf(event.type, event.object as Stored));
      else if (event.type === 'ADDED') objects.set(metadata.name, stateOf(event.object as Stored));
      else {
        assert.equal(metadata.annotations?.['k8s.io/initial-events-end'], 'true');
        this.at = Number(metadata.resourceVersion);
        begun = this.at;
        this.#show(objects);
      }
      if (told.length >= frames) break;
    }
    if (begun !== undefined) this.#record(begun, told);
  }

  /**
   * Watches from `from`, or from where it is, until `frames` were told, the server ends it or the connection breaks.
   * Returns whether the revision was still kept.
   */
  async watch(
    transport: Transport,
    options: {
      readonly from?: number;
      readonly frames: number;
      readonly timeoutSeconds: number;
      readonly bookmarks: boolean;
    },
  ): Promise<boolean> {
    const { frames, timeoutSeconds, bookmarks } = options;
    const from = options.from ?? this.at;
    const told: Frame[] = [];
    try {
      const query = { resourceVersion: from, allowWatchBookmarks: bookmarks, timeoutSeconds };
      for await (const event of this.#events(transport, query)) {
        if (event.type === 'ERROR') {
          this.#refused(from, told.at(-1)?.revision ?? from, event.object as object);
          return false;
        }
        told.push(frameOf(event.type, event.object as Stored));
        if (told.length >= frames) break;
      }
      return true;
    } finally {
      // What was told before a connection broke was told.
      this.#record(from, told);
    }
  }

  #record(from: number, frames: readonly Frame[]): void {
    this.records.push({ from, frames, selects: this.#selection.selects });
    const last = frames.at(-1)?.revision ?? from;
    // One that looked back is not further than before.
    if (from <= this.at && last > this.at) this.at = last;
  }

  #refused(
    from: number,
    reached: number,
    status: { readonly code?: number; readonly message?: string },
  ): void {
    assert.equal(status.code, 410, JSON.stringify(status));
    const [, asked, floor] = /^too old resource version: (\d+) \((\d+)\)$/.exec(status.message ?? '') ?? [];
    assert.ok(Number(asked) >= from && Number(asked) < Number(floor), `${from}: ${status.message}`);
    assert.ok(reached < Number(floor));
    this.gone.push({ from, floor: Number(floor) });
  }

  async *#events(
    transport: Transport,
    query: Readonly<Record<string, string | number | boolean>>,
  ): AsyncGenerator<WatchEvent<Stored>> {
    const ended = new AbortController();
    const path = this.#url({ watch: true, ...query });
    try {
      const response = await transport.request({
        method: 'GET',
        path,
        headers: {},
        signal: ended.signal,
        timeoutMs: 60_000,
      });
      if (response.status >= 500) throw new Error(`status ${response.status}`);
      assert.equal(response.status, 200);
      yield* watchEvents<Stored>(response.body);
    } finally {
      ended.abort();
    }
  }
}

function frameOf(type: string, object: Stored): Frame {
  const revision = Number(object.metadata.resourceVersion);
  if (type === 'BOOKMARK') return { type, revision };
  return { type: type as 'ADDED', revision, key: object.metadata.name, state: stateOf(object) };
}
