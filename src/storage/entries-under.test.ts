// Pages of a list against a plain one, and what they cost.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SortedMap } from '../base/sorted-map.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { entriesUnder } from './entries-under.ts';
import { defaultHistoryLimits, EventLog } from './event-log.ts';
import { listWhole } from './list-whole.ts';
import type { Entry, Key, ListOptions, Revision } from './storage.ts';
import { seeded } from './testing/store-model.ts';

/** Says how many entries it was asked to show. */
class CountingMap extends SortedMap<Entry> {
  shown = 0;
  override walk(from: string, visit: (key: string, value: Entry) => boolean): void {
    super.walk(from, (key, value) => {
      this.shown++;
      return visit(key, value);
    });
  }
}

class Store {
  readonly entries: CountingMap = new CountingMap();
  readonly #log = new EventLog(new FakeClock(), defaultHistoryLimits, 1, (error) => {
    throw error;
  });
  readonly #states = new Map<Revision, readonly Entry[]>();
  #revision = 1;

  write(key: Key, isPut: boolean): void {
    const previous = this.entries.get(key);
    if (!isPut && previous === undefined) return;
    const revision = ++this.#revision;
    const entry: Entry = { key, value: Buffer.from(String(revision)), revision };
    if (isPut) this.entries.set(key, entry);
    else this.entries.delete(key);
    this.#log.publish([
      isPut
        ? { ...entry, type: 'put', created: previous === undefined, previous }
        : { ...entry, type: 'delete', previous },
    ]);
    this.#states.set(
      revision,
      [...this.entries.from('')].map(([, one]) => one),
    );
  }
  stateAt(revision: Revision): readonly Entry[] {
    return this.#states.get(revision) ?? [];
  }
  list = async (prefix: Key, options?: ListOptions) =>
    entriesUnder({ entries: this.entries, log: this.#log, now: this.#revision }, prefix, options);
}

test('pages of any length, of any revision, are what a whole list of it would be', async () => {
  const random = seeded(11);
  const store = new Store();
  for (let i = 0; i < 400; i++) store.write(`/r/${'ab'[random(2)]}/${random(40)}`, random(3) > 0);
  for (let i = 0; i < 500; i++) {
    const revision = 2 + random(250);
    const prefix = ['/', '/r/', '/r/a/', '/r/b/1', '/x/'][random(5)]!;
    const after = random(2) === 0 ? '' : `/r/${'ab'[random(2)]}/${random(40)}`;
    const limit = 1 + random(12);
    const wanted = store
      .stateAt(revision)
      .filter(({ key }) => key.startsWith(prefix) && key > after)
      .sort((a, b) => (a.key < b.key ? -1 : 1));
    const shown = await store.list(prefix, { revision, after, limit });
    assert.deepEqual(shown, {
      entries: wanted.slice(0, limit),
      revision,
      more: wanted.length > limit,
    });
  }
});

test('a whole list in pages looks at each entry once, and once more where a page ends', async () => {
  const store = new Store();
  for (let i = 0; i < 1_000; i++)
    store.entries.set(`/r/${i}`, { key: `/r/${i}`, value: Buffer.of(), revision: 1 });
  for (let i = 0; i < 1_000; i++)
    store.entries.set(`/s/${i}`, { key: `/s/${i}`, value: Buffer.of(), revision: 1 });
  const { entries } = await listWhole(store, '/r/', 10);
  assert.equal(entries.length, 1_000);
  assert.ok(store.entries.shown <= 1_100, `${store.entries.shown} entries`);
});
