// What a watch tells of how far it is, while a webhook turns its events into another version, and after it could not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CacheEvent, WatchCursor } from '../../storage/watch/resource-cache.ts';
import type { RemoteVersions } from '../registry/remote-versions.ts';
import { ConvertingCursor } from './converting-cursor.ts';

const eventAt = (revision: number): CacheEvent =>
  ({ type: 'ADDED', revision, object: { value: Buffer.from('{}') }, previous: undefined }) as never;

/** Of a ring whose place is behind the last event that was taken. */
function ringOf(...revisions: readonly number[]): WatchCursor {
  let seen = 10;
  const events = revisions.map(eventAt);
  return {
    next: () => {
      const event = events.shift();
      seen = event?.revision ?? seen;
      return event;
    },
    revision: () => seen,
    onEvent() {},
    close() {},
  };
}

test('events that could not be converted are not behind a watch: its last bookmark is before them', async () => {
  const failed = Promise.withResolvers<never>();
  const remote = { isServed: () => false, items: () => failed.promise } as unknown as RemoteVersions;
  const cursor = new ConvertingCursor(ringOf(11, 12, 13), remote, false);
  assert.equal(cursor.next(), undefined);
  assert.equal(cursor.revision(), 10);
  const woken = new Promise<void>((resolve) => cursor.onEvent(resolve));
  failed.reject(new Error('the webhook is gone'));
  await woken;
  assert.equal(cursor.revision(), 10);
  assert.throws(() => cursor.next(), /the webhook is gone/);
});
