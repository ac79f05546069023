// Watchers that come and go, over restarts of the store: what each pieces together equals the log of writes.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../component-base/system-clock.ts';
import { openSqliteStorage } from '../sqlite/sqlite-storage.ts';
import type { Storage } from '../storage.ts';
import { CompactedError } from '../storage.ts';
import { createCacheSource } from './cache-source.ts';
import type { IndexRecord, ResourceCache, WatchCursor } from './resource-cache.ts';

const indexOf = (object: unknown): IndexRecord => {
  const { name } = object as { name: string };
  return { namespace: 'n', name, uid: '', labels: {}, fields: {} };
};
const head = '{"metadata":{"resourceVersion":"';
const draftOf = (name: string, text: string) => ({
  bytes: Buffer.from(`${head}"},"name":"${name}","text":"${text}"}`),
  revisionAt: head.length,
});

interface Seen {
  readonly revision: number;
  readonly type: string;
  readonly name: string;
}

/** Remembers where it was, and what it saw, as a client does. */
class Watcher {
  readonly from: number;
  readonly seen: Seen[] = [];
  #cursor: WatchCursor | undefined;
  #at: number;

  constructor(from: number) {
    this.from = from;
    this.#at = from;
  }

  connect(cache: ResourceCache): void {
    this.#cursor ??= cache.watch(this.#at, '');
  }

  disconnect(): void {
    this.#cursor?.close();
    this.#cursor = undefined;
  }

  read(limit: number): void {
    for (let i = 0; i < limit && this.#cursor !== undefined; i++) {
      const event = this.#cursor.next();
      this.#at = this.#cursor.revision();
      if (event === undefined) return;
      assert.equal(event.previous !== undefined, event.type !== 'ADDED', 'the state before is told');
      if (event.previous !== undefined) assert.ok(event.previous.revision < event.revision);
      this.seen.push({ revision: event.revision, type: event.type, name: event.object.index.name });
    }
  }
}

test('50 watchers with random breaks and restarts of the store see every write once and in order', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'watch-gap-'));
  let seed = 23;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (seed >>> 8) % below;
  };
  let storage: Storage = await openSqliteStorage({ directory });
  let source = await createCacheSource(storage, systemClock);
  let cache = source.cache({ group: '', resource: 'things' }, indexOf);
  const log: Seen[] = [];
  const watchers: Watcher[] = [];
  const write = async (): Promise<void> => {
    const name = `t${random(30)}`;
    const draft = draftOf(name, String(log.length));
    const current = cache.get('n', name);
    const result =
      current === undefined
        ? await cache.create('n', name, draft, { name })
        : random(3) === 0
          ? await cache.delete('n', name, draft, { name }, current.revision)
          : await cache.update('n', name, draft, { name }, current.revision);
    assert.ok(result.ok);
    const type =
      current === undefined ? 'ADDED' : cache.get('n', name) === undefined ? 'DELETED' : 'MODIFIED';
    log.push({ revision: result.entry.revision, type, name });
  };
  try {
    for (let step = 0; step < 600; step++) {
      await write();
      if (watchers.length < 50) watchers.push(new Watcher(cache.currentRevision()));
      for (const watcher of watchers) {
        const chance = random(20);
        if (chance === 0) watcher.disconnect();
        else if (chance < 8) watcher.connect(cache);
        else if (chance < 14) watcher.read(random(5));
      }
      if (step % 200 === 199) {
        for (const watcher of watchers) watcher.disconnect();
        source.close();
        await storage.close();
        storage = await openSqliteStorage({ directory });
        source = await createCacheSource(storage, systemClock);
        cache = source.cache({ group: '', resource: 'things' }, indexOf);
      }
    }
    for (const watcher of watchers) {
      watcher.connect(cache);
      watcher.read(Number.MAX_SAFE_INTEGER);
      assert.deepEqual(
        watcher.seen,
        log.filter((e) => e.revision > watcher.from),
      );
    }
    const floor = log[300]!.revision;
    await storage.compact(floor);
    source.close();
    await storage.close();
    storage = await openSqliteStorage({ directory });
    source = await createCacheSource(storage, systemClock);
    cache = source.cache({ group: '', resource: 'things' }, indexOf);
    assert.throws(() => cache.watch(floor - 1, ''), CompactedError);
    const rest = new Watcher(floor);
    rest.connect(cache);
    rest.read(Number.MAX_SAFE_INTEGER);
    assert.deepEqual(rest.seen, log.slice(301));
  } finally {
    source.close();
    await storage.close();
    rmSync(directory, { recursive: true, force: true });
  }
});
