// Which migration is next, and what is said of how far it is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StorageVersionMigration } from '../../api/generated/types/storagemigration-v1beta1.ts';
import {
  begun,
  completed,
  isOver,
  isRunning,
  needsMigration,
  nextOf,
  over,
  running,
} from './migration-state.ts';

const secrets = { group: '', resource: 'secrets' };
const now = '2026-01-01T00:00:00Z';
const made = (name: string, creationTimestamp: string, resource = secrets): StorageVersionMigration =>
  ({ metadata: { name, creationTimestamp }, spec: { resource } }) as StorageVersionMigration;
const old = made('z', '2025-01-01T00:00:00Z');
const young = made('b', '2025-01-02T00:00:00Z');
const twin = made('a', '2025-01-02T00:00:00Z');
const other = made('o', '2024-01-01T00:00:00Z', { group: 'apps', resource: 'secrets' });

test('the oldest of a resource is next, by name where two are as old', () => {
  assert.equal(nextOf([young, twin, old, other], secrets), old);
  assert.equal(nextOf([young, twin, other], secrets), twin);
  assert.equal(nextOf([other], secrets), undefined);
});

test('nobody is next while one runs, or is over and has still to be put in order', () => {
  assert.equal(nextOf([running(young, now), old], secrets), undefined);
  const done = over(running(young, now), 'Succeeded', '', now);
  assert.ok(isOver(done) && isRunning(done));
  assert.equal(nextOf([done, old], secrets), undefined);
  assert.equal(nextOf([completed(done, now), old], secrets), old);
  assert.equal(nextOf([completed(done, now)], secrets), undefined);
});

test('the revision at which it began stays, whatever is said afterwards', () => {
  const failed = over(running(begun(old, '12'), now), 'Failed', 'why', now);
  assert.equal(failed.status?.resourceVersion, '12');
  assert.deepEqual(
    failed.status?.conditions?.map(({ type, status, reason, message }) => [type, status, reason, message]),
    [
      ['Running', 'True', 'MigrationRunning', 'The migration is running'],
      ['Failed', 'True', 'StorageVersionMigrationFailed', 'why'],
    ],
  );
});

test('what was written after the beginning is passed over', () => {
  assert.ok(needsMigration('9', '10') && needsMigration('10', '10') && !needsMigration('11', '10'));
});
