// The contract of Storage as tests: every driver runs them, those that lag and fail, too.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../base/clock.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { listWhole } from '../list-whole.ts';
import type { Draft, Entry, Key, Revision, Storage, StorageEvent, Written } from '../storage.ts';
import { CompactedError } from '../storage.ts';
import { ToldEvents } from './told-events.ts';

export interface StorageUnderTest {
  readonly name: string;
  open(clock: Clock): Promise<Storage>;
  /** Opens again what `storage` has kept, after closing it. Absent when nothing is kept. */
  reopen?(storage: Storage, clock: Clock): Promise<Storage>;
}

/** A draft as the API server makes it: the revision goes between the quotes. */
export function draftOf(text: string): Draft {
  const head = '{"metadata":{"resourceVersion":"';
  return {
    bytes: Buffer.from(`${head}"},"data":${JSON.stringify(text)}}`),
    revisionAt: head.length,
  };
}

const shown = (text: string, revision: Revision): string =>
  `{"metadata":{"resourceVersion":"${revision}"},"data":${JSON.stringify(text)}}`;

export function written(result: Written | { readonly ok: false; readonly reason: string }): Entry {
  if (!result.ok) assert.fail(`not written: ${result.reason}`);
  return result.entry;
}

type WithStorage = (title: string, run: (storage: Storage, clock: FakeClock) => Promise<void>) => void;

export function storageConformance(driver: StorageUnderTest): void {
  const withStorage: WithStorage = (title, run) => {
    test(`${driver.name} ${title}`, async () => {
      const clock = new FakeClock();
      const storage = await driver.open(clock);
      try {
        await run(storage, clock);
      } finally {
        await storage.close();
      }
    });
  };
  conformingValues(withStorage);
  conformingWrites(withStorage);
  conformingLists(withStorage);
  conformingWatches(withStorage);
  conformingEnds(withStorage);
  conformingLeases(withStorage);
  const { reopen } = driver;
  if (reopen === undefined) return;
  conformingReopening(driver.name, driver.open, reopen);
  conformingReopenedLeases(driver.name, driver.open, reopen);
}

const keysOf = (items: readonly { readonly key: Key }[]): Key[] => items.map(({ key }) => key);
const revisionsOf = (events: readonly StorageEvent[]): Revision[] => events.map(({ revision }) => revision);

function conformingValues(withStorage: WithStorage): void {
  withStorage('stamps the revision into what it keeps, returns and publishes', async (storage) => {
    const told = new ToldEvents(storage, '/registry/', await storage.revision());
    const entry = written(await storage.create('/registry/core/pods/a/x', draftOf('é')));
    assert.equal(entry.value.toString(), shown('é', entry.revision));
    assert.deepEqual((await storage.get(entry.key))?.value, entry.value);
    const events = await told.until(entry.revision);
    assert.deepEqual(
      events.map((e) => e.value.toString()),
      [shown('é', entry.revision)],
    );
  });

  withStorage('keeps any bytes as they are when there is no place for a revision', async (storage) => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    const entry = written(await storage.create('/registry/x/y/z', { bytes, revisionAt: -1 }));
    assert.deepEqual(entry.value, bytes);
    assert.deepEqual((await storage.list('/registry/x/')).entries[0]?.value, bytes);
  });

  withStorage('treats hostile keys as plain text', async (storage) => {
    const keys = ["/registry/'; DROP TABLE objects; --", '/registry/__proto__', '/registry/%', '/registry/_'];
    for (const key of keys) written(await storage.create(key, draftOf(key)));
    for (const key of keys) assert.ok((await storage.get(key))?.value.includes('data'));
    assert.deepEqual(keysOf((await storage.list('/registry/%')).entries), ['/registry/%']);
  });
}

function conformingWrites(withStorage: WithStorage): void {
  withStorage('raises the revision with every write and not with refused ones', async (storage) => {
    const first = written(await storage.create('/registry/a', draftOf('1')));
    const refused = await storage.create('/registry/a', draftOf('2'));
    assert.deepEqual(refused, { ok: false, reason: 'exists', current: first });
    assert.equal(await storage.revision(), first.revision);
    const second = written(await storage.update('/registry/a', draftOf('3'), first.revision));
    assert.ok(second.revision > first.revision);
    const stale = await storage.update('/registry/a', draftOf('4'), first.revision);
    assert.deepEqual(stale, { ok: false, reason: 'conflict', current: second });
    const staleDelete = await storage.delete('/registry/a', draftOf('5'), first.revision);
    assert.deepEqual(staleDelete, { ok: false, reason: 'conflict', current: second });
    const gone = written(await storage.delete('/registry/a', draftOf('3'), second.revision));
    assert.equal(gone.value.toString(), shown('3', gone.revision));
    assert.equal(await storage.get('/registry/a'), undefined);
    const absent = await storage.update('/registry/a', draftOf('6'), second.revision);
    assert.deepEqual(absent, { ok: false, reason: 'conflict', current: undefined });
    assert.equal(await storage.revision(), gone.revision);
  });

  withStorage('of many writers of one revision exactly one wins', async (storage) => {
    const entry = written(await storage.create('/registry/a', draftOf('0')));
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => storage.update('/registry/a', draftOf(String(i)), entry.revision)),
    );
    const winners = results.filter((r) => r.ok);
    assert.equal(winners.length, 1);
    for (const result of results)
      if (!result.ok) assert.deepEqual(result.current, written(winners[0]!), 'a loser is told the winner');
    const creates = await Promise.all(
      Array.from({ length: 20 }, (_, i) => storage.create('/registry/b', draftOf(String(i)))),
    );
    assert.equal(creates.filter((r) => r.ok).length, 1);
  });

  withStorage('has every acknowledged write in the revision that is asked for then', async (storage) => {
    await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const { revision } = written(await storage.create(`/registry/${i}`, draftOf('x')));
        assert.ok((await storage.revision()) >= revision);
        assert.ok((await storage.list('/registry/')).revision >= revision);
      }),
    );
  });
}

function conformingLists(withStorage: WithStorage): void {
  withStorage('lists by key and keeps prefixes apart', async (storage) => {
    for (const key of [
      '/registry/core/pods/b/1',
      '/registry/core/pods/a/2',
      '/registry/core/pods/a/1',
      '/registry/core/podtemplates/a/1',
    ])
      await storage.create(key, draftOf(key));
    const { entries, revision, more } = await storage.list('/registry/core/pods/');
    assert.deepEqual(keysOf(entries), [
      '/registry/core/pods/a/1',
      '/registry/core/pods/a/2',
      '/registry/core/pods/b/1',
    ]);
    assert.equal(more, false);
    assert.equal(revision, await storage.revision());
    assert.deepEqual((await storage.list('/registry/core/pods/a/')).entries.length, 2);
  });

  withStorage(
    'shows in all pages the revision of the first, whatever is written between',
    async (storage) => {
      const made: Entry[] = [];
      for (const name of ['b', 'd', 'f', 'h', 'j'])
        made.push(written(await storage.create(`/registry/x/${name}`, draftOf(name))));
      await storage.create('/registry/y/a', draftOf('a'));
      const first = await storage.list('/registry/x/', { limit: 2 });
      assert.deepEqual([keysOf(first.entries), first.more], [['/registry/x/b', '/registry/x/d'], true]);
      const { revision } = first;
      await storage.delete('/registry/x/f', draftOf('f'), made[2]!.revision);
      const moved = written(await storage.update('/registry/x/h', draftOf('other'), made[3]!.revision));
      await storage.update('/registry/x/h', draftOf('another'), moved.revision);
      for (const name of ['e', 'k']) await storage.create(`/registry/x/${name}`, draftOf(name));
      const second = await storage.list('/registry/x/', { limit: 2, revision, after: '/registry/x/d' });
      assert.deepEqual(second, { entries: made.slice(2, 4), revision, more: true });
      const third = await storage.list('/registry/x/', { limit: 2, revision, after: '/registry/x/h' });
      assert.deepEqual(third, { entries: made.slice(4), revision, more: false });
      const now = await listWhole(storage, '/registry/x/', 2);
      assert.deepEqual(
        keysOf(now.entries).map((key) => key.at(-1)),
        ['b', 'd', 'e', 'h', 'j', 'k'],
      );
      await storage.compact(revision + 1);
      const late = storage.list('/registry/x/', { limit: 2, revision, after: '/registry/x/d' });
      await assert.rejects(late, (error) => error instanceof CompactedError);
      await assert.rejects(storage.list('/registry/x/', { revision: now.revision + 1 }));
    },
  );
}

function conformingWatches(withStorage: WithStorage): void {
  withStorage('shows watchers every write once and in order', async (storage) => {
    const told = new ToldEvents(storage, '/registry/a/', await storage.revision());
    const other = new ToldEvents(storage, '/registry/b/', await storage.revision());
    const acked = await Promise.all(
      Array.from(
        { length: 100 },
        async (_, i) => written(await storage.create(`/registry/a/${i}`, draftOf('x'))).revision,
      ),
    );
    const last = Math.max(...acked);
    assert.deepEqual(
      revisionsOf(await told.until(last)),
      [...acked].sort((a, b) => a - b),
    );
    // How far it is, is told even to whom nothing else is.
    assert.deepEqual(await other.until(last), []);
  });

  withStorage('resumes a watch from any kept revision and says what changed', async (storage) => {
    const one = written(await storage.create('/registry/a', draftOf('1')));
    const two = written(await storage.update('/registry/a', draftOf('2'), one.revision));
    const three = written(await storage.delete('/registry/a', draftOf('2'), two.revision));
    const told = new ToldEvents(storage, '/registry/', one.revision);
    assert.deepEqual(await told.until(three.revision), [
      { ...two, type: 'put', created: false, previous: one },
      { ...three, type: 'delete', previous: two },
    ]);
  });

  withStorage('lets a watcher write, and shows that write afterwards', async (storage) => {
    let second: Promise<Written | { ok: false; reason: string }> | undefined;
    storage.watch('/registry/', await storage.revision(), (events) => {
      if (events.length > 0) second ??= storage.create('/registry/b', draftOf('1'));
    });
    const told = new ToldEvents(storage, '/registry/', await storage.revision());
    const first = written(await storage.create('/registry/a', draftOf('1')));
    await told.until(first.revision);
    assert.ok(second, 'the first watcher is told before the second');
    assert.deepEqual(keysOf(await told.until(written(await second).revision)), [
      '/registry/a',
      '/registry/b',
    ]);
  });
}

function conformingEnds(withStorage: WithStorage): void {
  withStorage('ends a watch from a compacted revision and goes on from the floor', async (storage) => {
    const revisions: Revision[] = [];
    for (let i = 0; i < 5; i++)
      revisions.push(written(await storage.create(`/registry/${i}`, draftOf('x'))).revision);
    await storage.compact(revisions[2]!);
    const late = new ToldEvents(storage, '/registry/', revisions[1]!);
    assert.deepEqual(await late.ended, { reason: 'compacted', compactedTo: revisions[2] });
    assert.deepEqual(late.events, []);
    const told = new ToldEvents(storage, '/registry/', revisions[2]!);
    assert.deepEqual(revisionsOf(await told.until(revisions[4]!)), revisions.slice(3));
    assert.equal((await storage.list('/registry/')).entries.length, 5, 'compaction forgets history only');
  });

  withStorage('tells nothing to a watcher that has ended, or that another one ends', async (storage) => {
    const told = new ToldEvents(storage, '/registry/', await storage.revision());
    const closed = new Set<string>();
    const late: string[] = [];
    const watch = (name: string, then: () => void): (() => void) => {
      const { close, ended } = storage.watch('/registry/', told.upTo, (events) => {
        if (closed.has(name)) late.push(name);
        if (events.length > 0) then();
      });
      return () => {
        closed.add(name);
        close();
        ends.push(ended);
      };
    };
    const ends: Promise<unknown>[] = [];
    const stopFirst = watch('first', () => stopSecond());
    const stopSecond = watch('second', () => stopFirst());
    await storage.create('/registry/a', draftOf('1'));
    const last = written(await storage.create('/registry/b', draftOf('1')));
    await told.until(last.revision);
    assert.ok(closed.size > 0, 'one was told, and ended the other');
    assert.deepEqual(late, []);
    for (const end of await Promise.all(ends)) assert.deepEqual(end, { reason: 'closed' });
  });

  withStorage('ends all watches when it is closed, and none begins any more', async (storage) => {
    const told = new ToldEvents(storage, '/registry/', await storage.revision());
    await storage.close();
    assert.deepEqual(await told.ended, { reason: 'closed' });
    assert.deepEqual(await new ToldEvents(storage, '/registry/', told.upTo).ended, { reason: 'closed' });
  });
}

function conformingLeases(withStorage: WithStorage): void {
  withStorage('deletes what a lease holds when it is over, and nothing else', async (storage, clock) => {
    const [short, long] = [await storage.grant(10_000), await storage.grant(20_000)];
    const create = async (key: Key, lease?: number): Promise<Entry> =>
      written(await storage.create(key, { ...draftOf(key), lease }));
    const gone = await create('/registry/gone', short);
    const kept = await create('/registry/kept', short);
    const renewed = await create('/registry/renewed', short);
    await create('/registry/other');
    assert.equal((await storage.get(gone.key))?.lease, short);
    written(await storage.update(kept.key, draftOf('kept'), kept.revision));
    const now = await storage.update(renewed.key, { ...draftOf('renewed'), lease: long }, renewed.revision);
    const from = written(now).revision;
    const told = new ToldEvents(storage, '/registry/', from);
    // Who sets the time of day ends none.
    clock.setBy(365 * 24 * 3_600_000);
    clock.advance(9_999);
    assert.equal(await storage.timeToLive(short), 1);
    clock.advance(1);
    const value = Buffer.from(shown(gone.key, from + 1));
    const first = { type: 'delete', key: gone.key, value, revision: from + 1, previous: gone };
    assert.deepEqual(await told.until(from + 1), [first]);
    assert.deepEqual(await storage.timeToLive(short), undefined);
    await assert.rejects(create('/registry/late', short), { name: 'StorageError', code: 'NoLease' });
    clock.advance(10_000);
    assert.deepEqual(keysOf((await told.until(from + 2)).slice(1)), [renewed.key]);
    const left = await storage.list('/registry/');
    assert.deepEqual(keysOf(left.entries), ['/registry/kept', '/registry/other']);
  });

  withStorage('a lease that ends under a write of its key lets one of them win', async (storage, clock) => {
    for (let i = 0; i < 5; i++) {
      const lease = await storage.grant(1_000);
      const key = `/registry/${i}`;
      const made = written(await storage.create(key, { ...draftOf('1'), lease }));
      const told = new ToldEvents(storage, key, made.revision);
      const write = storage.update(key, draftOf('2'), made.revision);
      clock.advance(1_000);
      const outcome = await write;
      const newest = await storage.get(key);
      await told.until(await storage.revision());
      if (outcome.ok) assert.equal(newest?.revision, outcome.entry.revision);
      else assert.equal(newest, undefined);
      assert.equal(told.events.length, 1);
    }
  });

  withStorage('deletes what one lease holds in few commits', async (storage, clock) => {
    const lease = await storage.grant(1_000);
    const keys = Array.from({ length: 300 }, (_, i) => `/registry/${i}`);
    await Promise.all(keys.map((key) => storage.create(key, { ...draftOf(key), lease })));
    const from = await storage.revision();
    let commits = 0;
    storage.watch('/registry/', from, (events) => {
      if (events.length > 0) commits++;
    });
    const told = new ToldEvents(storage, '/registry/', from);
    clock.advance(1_000);
    assert.deepEqual(keysOf(await told.until(from + 300)).sort(), keys.sort());
    assert.deepEqual((await storage.list('/registry/')).entries, []);
    assert.ok(commits <= 3, `${commits} commits`);
  });
}

function conformingReopenedLeases(
  name: string,
  open: StorageUnderTest['open'],
  reopen: NonNullable<StorageUnderTest['reopen']>,
): void {
  test(`${name} goes on with what was left of a lease when it is opened again`, async () => {
    const clock = new FakeClock();
    let storage = await open(clock);
    const lease = await storage.grant(60_000);
    const made = written(await storage.create('/registry/a', { ...draftOf('a'), lease }));
    const kept = written(await storage.create('/registry/b', { ...draftOf('b'), lease }));
    written(await storage.update('/registry/b', draftOf('kept'), kept.revision));
    for (let opening = 0; opening < 2; opening++) {
      clock.advance(20_000);
      storage = await reopen(storage, clock);
    }
    const told = new ToldEvents(storage, '/registry/', await storage.revision());
    const left = await storage.timeToLive((await storage.get('/registry/a'))!.lease!);
    assert.ok(left !== undefined && left >= 20_000 && left <= 21_000, `${left} ms are left`);
    assert.equal((await storage.get('/registry/b'))?.lease, undefined);
    clock.advance(19_999);
    assert.deepEqual((await storage.get('/registry/a'))?.value, made.value);
    clock.advance(1_001);
    assert.deepEqual(keysOf(await told.until(told.upTo + 1)), ['/registry/a']);
    await storage.close();
  });
}

function conformingReopening(
  name: string,
  open: StorageUnderTest['open'],
  reopen: NonNullable<StorageUnderTest['reopen']>,
): void {
  test(`${name} keeps entries, revisions, history and floor when it is opened again`, async () => {
    const clock = new FakeClock();
    let storage = await open(clock);
    const one = written(await storage.create('/registry/a', draftOf('1')));
    const two = written(await storage.update('/registry/a', draftOf('2'), one.revision));
    const three = written(await storage.create('/registry/b', draftOf('3')));
    const four = written(await storage.delete('/registry/b', draftOf('3'), three.revision));
    await storage.compact(one.revision);
    storage = await reopen(storage, clock);
    try {
      assert.deepEqual((await storage.list('/registry/')).entries, [two]);
      assert.equal(await storage.revision(), four.revision);
      const told = new ToldEvents(storage, '/registry/', one.revision);
      assert.deepEqual(
        (await told.until(four.revision)).map((e) => [e.type, e.revision]),
        [
          ['put', two.revision],
          ['put', three.revision],
          ['delete', four.revision],
        ],
      );
      const then = await storage.list('/registry/', { revision: three.revision });
      assert.deepEqual(then.entries, [two, three]);
      const late = new ToldEvents(storage, '/registry/', one.revision - 1);
      assert.equal((await late.ended).reason, 'compacted');
      assert.ok(written(await storage.create('/registry/c', draftOf('5'))).revision > four.revision);
    } finally {
      await storage.close();
    }
  });
}
