// The contract of Storage as tests: every driver runs them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Draft, Entry, Revision, Storage, StorageEvent, Written } from '../storage.ts';
import { CompactedError } from '../storage.ts';

export interface StorageUnderTest {
  readonly name: string;
  open(): Promise<Storage>;
  /** Opens again what `storage` has kept, after closing it. Absent when nothing is kept. */
  reopen?(storage: Storage): Promise<Storage>;
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

export function storageConformance(driver: StorageUnderTest): void {
  const withStorage = (title: string, run: (storage: Storage) => Promise<void>): void => {
    test(`${driver.name} ${title}`, async () => {
      const storage = await driver.open();
      try {
        await run(storage);
      } finally {
        await storage.close();
      }
    });
  };

  withStorage('stamps the revision into what it keeps, returns and publishes', async (storage) => {
    const events: StorageEvent[] = [];
    storage.watch('/registry/', storage.currentRevision(), (batch) => events.push(...batch));
    const entry = written(await storage.create('/registry/core/pods/a/x', draftOf('é')));
    assert.equal(entry.value.toString(), shown('é', entry.revision));
    assert.deepEqual((await storage.get(entry.key))?.value, entry.value);
    assert.deepEqual(
      events.map((e) => e.value.toString()),
      [shown('é', entry.revision)],
    );
    assert.equal(storage.currentRevision(), entry.revision);
  });

  withStorage('keeps any bytes as they are when there is no place for a revision', async (storage) => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    const entry = written(await storage.create('/registry/x/y/z', { bytes, revisionAt: -1 }));
    assert.deepEqual(entry.value, bytes);
    assert.deepEqual((await storage.list('/registry/x/')).entries[0]?.value, bytes);
  });

  withStorage('raises the revision with every write and not with refused ones', async (storage) => {
    const first = written(await storage.create('/registry/a', draftOf('1')));
    const refused = await storage.create('/registry/a', draftOf('2'));
    assert.deepEqual(refused, { ok: false, reason: 'exists', current: first });
    assert.equal(storage.currentRevision(), first.revision);
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
  });

  withStorage('lists by key and keeps prefixes apart', async (storage) => {
    for (const key of [
      '/registry/core/pods/b/1',
      '/registry/core/pods/a/2',
      '/registry/core/pods/a/1',
      '/registry/core/podtemplates/a/1',
    ])
      await storage.create(key, draftOf(key));
    const { entries, revision } = await storage.list('/registry/core/pods/');
    assert.deepEqual(
      entries.map((e) => e.key),
      ['/registry/core/pods/a/1', '/registry/core/pods/a/2', '/registry/core/pods/b/1'],
    );
    assert.equal(revision, storage.currentRevision());
    assert.deepEqual((await storage.list('/registry/core/pods/a/')).entries.length, 2);
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

  withStorage('shows watchers every write once, in order, before its promise resolves', async (storage) => {
    const seen: Revision[] = [];
    const other: StorageEvent[] = [];
    storage.watch('/registry/a/', storage.currentRevision(), (batch) =>
      seen.push(...batch.map((e) => e.revision)),
    );
    storage.watch('/registry/b/', storage.currentRevision(), (batch) => other.push(...batch));
    const acked = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        const entry = written(await storage.create(`/registry/a/${i}`, draftOf('x')));
        assert.ok(seen.includes(entry.revision), 'visible when acknowledged');
        return entry.revision;
      }),
    );
    assert.deepEqual(
      seen,
      [...acked].sort((a, b) => a - b),
    );
    assert.equal(new Set(seen).size, 100);
    assert.deepEqual(other, []);
  });

  withStorage('resumes a watch from any kept revision and says what changed', async (storage) => {
    const one = written(await storage.create('/registry/a', draftOf('1')));
    const two = written(await storage.update('/registry/a', draftOf('2'), one.revision));
    const three = written(await storage.delete('/registry/a', draftOf('2'), two.revision));
    const events: StorageEvent[] = [];
    storage.watch('/registry/', one.revision, (batch) => events.push(...batch));
    assert.deepEqual(events, [
      {
        type: 'put',
        key: '/registry/a',
        value: two.value,
        revision: two.revision,
        created: false,
        previous: one.value,
      },
      {
        type: 'delete',
        key: '/registry/a',
        value: three.value,
        revision: three.revision,
        previous: two.value,
      },
    ]);
  });

  withStorage('refuses to watch from a compacted revision and goes on from the floor', async (storage) => {
    const revisions: Revision[] = [];
    for (let i = 0; i < 5; i++)
      revisions.push(written(await storage.create(`/registry/${i}`, draftOf('x'))).revision);
    await storage.compact(revisions[2]!);
    assert.throws(
      () => storage.watch('/registry/', revisions[1]!, () => {}),
      (error) => error instanceof CompactedError && error.compactedTo === revisions[2],
    );
    const seen: Revision[] = [];
    storage.watch('/registry/', revisions[2]!, (batch) => seen.push(...batch.map((e) => e.revision)));
    assert.deepEqual(seen, revisions.slice(3));
    assert.equal((await storage.list('/registry/')).entries.length, 5, 'compaction forgets history only');
  });

  withStorage('stops calling a watcher that has ended', async (storage) => {
    let calls = 0;
    const stop = storage.watch('/registry/', storage.currentRevision(), () => calls++);
    await storage.create('/registry/a', draftOf('1'));
    stop();
    await storage.create('/registry/b', draftOf('1'));
    assert.equal(calls, 1);
  });

  withStorage('does not call a watcher that another one ended in the same delivery', async (storage) => {
    let calls = 0;
    let stopSecond = (): void => {};
    storage.watch('/registry/', storage.currentRevision(), () => stopSecond());
    stopSecond = storage.watch('/registry/', storage.currentRevision(), () => calls++);
    await storage.create('/registry/a', draftOf('1'));
    assert.equal(calls, 0);
  });

  withStorage('lets a watcher write, and shows that write afterwards', async (storage) => {
    const seen: string[] = [];
    let second: Promise<unknown> | undefined;
    storage.watch('/registry/', storage.currentRevision(), (batch) => {
      for (const event of batch) {
        seen.push(event.key);
        second ??= storage.create('/registry/b', draftOf('1'));
      }
    });
    await storage.create('/registry/a', draftOf('1'));
    await second;
    assert.deepEqual(seen, ['/registry/a', '/registry/b']);
  });

  withStorage('treats hostile keys as plain text', async (storage) => {
    const keys = ["/registry/'; DROP TABLE objects; --", '/registry/__proto__', '/registry/%', '/registry/_'];
    for (const key of keys) written(await storage.create(key, draftOf(key)));
    for (const key of keys) assert.ok((await storage.get(key))?.value.includes('data'));
    assert.deepEqual(
      (await storage.list('/registry/%')).entries.map((e) => e.key),
      ['/registry/%'],
    );
  });

  const reopen = driver.reopen;
  if (reopen === undefined) return;

  test(`${driver.name} keeps entries, revisions, history and floor when it is opened again`, async () => {
    let storage = await driver.open();
    const one = written(await storage.create('/registry/a', draftOf('1')));
    const two = written(await storage.update('/registry/a', draftOf('2'), one.revision));
    const three = written(await storage.create('/registry/b', draftOf('3')));
    const four = written(await storage.delete('/registry/b', draftOf('3'), three.revision));
    await storage.compact(one.revision);
    storage = await reopen(storage);
    try {
      assert.deepEqual((await storage.list('/registry/')).entries, [two]);
      assert.equal(storage.currentRevision(), four.revision);
      const seen: StorageEvent[] = [];
      storage.watch('/registry/', one.revision, (batch) => seen.push(...batch));
      assert.deepEqual(
        seen.map((e) => [e.type, e.revision]),
        [
          ['put', two.revision],
          ['put', three.revision],
          ['delete', four.revision],
        ],
      );
      assert.throws(() => storage.watch('/registry/', one.revision - 1, () => {}), CompactedError);
      assert.ok(written(await storage.create('/registry/c', draftOf('5'))).revision > four.revision);
    } finally {
      await storage.close();
    }
  });
}
