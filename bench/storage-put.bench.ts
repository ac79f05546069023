// What a durable create costs in the embedded store, beside a bare loop of write and fdatasync on the same disk.
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../src/component-base/system-clock.ts';
import { openSqliteStorage } from '../src/storage/sqlite/sqlite-storage.ts';
import type { Draft } from '../src/storage/storage.ts';
import { createCacheSource } from '../src/storage/watch/cache-source.ts';
import type { ResourceCache } from '../src/storage/watch/resource-cache.ts';
import { type Bench, cpuPerOperation, type Measurement, quantile } from './bench.ts';

const head = '{"metadata":{"resourceVersion":"';
const draft: Draft = {
  bytes: Buffer.from(`${head}"},"data":"${'x'.repeat(1_200)}"}`),
  revisionAt: head.length,
};

function syncLoop(directory: string): number {
  const file = openSync(join(directory, 'floor'), 'w');
  const block = Buffer.alloc(4_096, 1);
  const took: number[] = [];
  for (let i = 0; i < 300; i++) {
    const from = performance.now();
    writeSync(file, block);
    fdatasyncSync(file);
    took.push(performance.now() - from);
  }
  closeSync(file);
  return quantile(took, 0.5);
}

async function creates(
  cache: ResourceCache,
  writers: number,
  total: number,
  prefix: string,
): Promise<number[]> {
  const took: number[] = [];
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < total) {
      const name = `${prefix}${next++}`;
      const from = performance.now();
      await cache.create('default', name, draft, { name });
      took.push(performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  return took;
}

async function measure(directory: string): Promise<Measurement[]> {
  const floor = { what: 'write 4 KB and fdatasync', value: syncLoop(directory) };
  const storage = await openSqliteStorage({ directory: join(directory, 'store') });
  const source = await createCacheSource(storage, systemClock);
  const cache = source.cache({ group: '', resource: 'configmaps' }, (object) => {
    const { name } = object as { name: string };
    return { namespace: 'default', name, uid: '', labels: {}, fields: { 'metadata.name': name } };
  });
  const alone = await creates(cache, 1, 1_000, 'alone-');
  const from = performance.now();
  const cpu = await cpuPerOperation(20_000, () => creates(cache, 32, 20_000, 'many-'));
  const perSecond = 20_000 / ((performance.now() - from) / 1_000);
  source.close();
  await storage.close();
  return [
    { what: 'create, one writer, p50', value: quantile(alone, 0.5), unit: 'ms', floor, aim: { value: 0.7 } },
    { what: 'create, one writer, p99', value: quantile(alone, 0.99), unit: 'ms', floor },
    {
      what: 'creates, 32 writers',
      value: perSecond,
      unit: '/s',
      floor: { what: 'one sync each', value: 1_000 / floor.value },
    },
    { what: 'CPU of a create, 32 writers', value: cpu, unit: 'µs', aim: { value: 60 } },
  ];
}

export const bench: Bench = {
  name: 'storage-put',
  question: 'what does a durable create cost in the embedded store?',
  async run() {
    // On the disk of the checkout: the temporary folder may be memory.
    const directory = mkdtempSync(join(import.meta.dirname, '.storage-put-'));
    try {
      return await measure(directory);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
};
