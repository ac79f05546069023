// The drivers that lag and fail pass the contract, too: it asks nothing that only a store in the same process can do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../component-base/system-clock.ts';
import { MemoryStorage } from '../memory/memory-storage.ts';
import { FailingStorage } from './failing-storage.ts';
import { LaggingStorage } from './lagging-storage.ts';
import { draftOf, storageConformance, written } from './storage-conformance.ts';

const memory = (): MemoryStorage => new MemoryStorage(systemClock);

storageConformance({
  name: 'LaggingStorage',
  open: async (clock) => new LaggingStorage(new MemoryStorage(clock)),
});
storageConformance({
  name: 'FailingStorage',
  open: async (clock) => new FailingStorage(new MemoryStorage(clock), 2),
});

test('LaggingStorage ends a watch that is too far behind', async () => {
  const storage = new LaggingStorage(memory(), 3);
  storage.hold();
  const watch = storage.watch('/', await storage.revision(), () => assert.fail('it is held'));
  for (const key of ['/a', '/b', '/c']) await storage.create(key, draftOf('x'));
  assert.deepEqual(await watch.ended, { reason: 'lagging' });
});

test('FailingStorage loses the answer to a write that was stored, and to one that was not', async () => {
  const storage = new FailingStorage(memory());
  const unknown = { name: 'StorageError', code: 'Unknown' };
  storage.loseAnswer('not stored');
  await assert.rejects(storage.create('/a', draftOf('x')), unknown);
  assert.equal(await storage.get('/a'), undefined);
  storage.loseAnswer('stored');
  await assert.rejects(storage.create('/a', draftOf('x')), unknown);
  assert.ok(await storage.get('/a'));
  written(await storage.create('/b', draftOf('x')));
  storage.goAway();
  await assert.rejects(storage.create('/c', draftOf('x')), unknown);
  await assert.rejects(storage.revision(), unknown);
  storage.comeBack();
  written(await storage.create('/c', draftOf('x')));
});
