// What a server remembers of reservations: what their records say, and no more.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { configmaps } from '../../api/generated/resources.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import type { Reservation } from '../../component-helpers/quota-reservations.ts';
import { MemoryStorage } from '../../storage/memory/memory-storage.ts';
import { createCacheSource } from '../../storage/watch/cache-source.ts';
import { reservationCache, StoredReservations } from './quota-reservations.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapMegabytes(): number {
  collect();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

/** Nothing is stored yet, and every namespace is there. */
const live = {
  has: ({ resource }: { resource: string }) => resource === 'namespaces',
} as unknown as LiveObjects;

/** An id of half a megabyte, so that it is seen where it is kept. */
const idOf = (number: number): string => String(number).padStart(1 << 19, '-');
const reservationOf = (number: number): Reservation => ({
  id: idOf(number),
  resource: configmaps,
  name: 'c',
  replaces: undefined,
  usage: new Map(),
  shape: undefined,
});

test('what was let through is remembered as long as its record says so: own ones, other servers\u2019 and dry runs', async (t) => {
  const storage = new MemoryStorage(systemClock);
  const open = async (): Promise<StoredReservations> => {
    const caches = await createCacheSource(storage, systemClock);
    t.after(() => caches.close());
    return new StoredReservations({ cache: reservationCache(caches), live, clock: systemClock });
  };
  const [own, other] = [await open(), await open()];
  const round = async (number: number): Promise<void> => {
    const writer = number % 2 === 0 ? own : other;
    assert.ok(await writer.write('n', await writer.read('n'), [reservationOf(number)]));
    const seen = await own.read('n');
    assert.deepEqual(
      seen.all.map(({ id }) => Number(id.replaceAll('-', ''))),
      [number],
    );
    own.end('n', idOf(number));
    assert.deepEqual((await own.read('n')).all, []);
    // A dry run reserves nothing.
    own.end('n', idOf(1000 + number));
  };
  await round(0);
  const before = heapMegabytes();
  for (let number = 1; number <= 60; number++) await round(number);
  const grown = heapMegabytes() - before;
  assert.ok(grown < 10, `${grown} MB more`);
});
