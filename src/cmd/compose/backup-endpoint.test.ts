// A backup that is read by a client at its own pace: no piece is larger than asked for, and one that stops is cut.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PullBody } from '../../apiserver/http.ts';
import type { RequestContext } from '../../apiserver/request-context.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { decodeBackup } from '../../storage/backup/backup-format.ts';
import { MemoryStorage } from '../../storage/memory/memory-storage.ts';
import { backupHandler, pulled } from './backup-endpoint.ts';

test('a backup comes in pieces of what was asked for, whole, and does not wait for ever', () => {
  const chunks = [Buffer.from('a'), Buffer.alloc(1000, 'b'), Buffer.alloc(0), Buffer.from('c')];
  let ended = 0;
  function* source(): Generator<Buffer, void, void> {
    try {
      yield* chunks;
    } finally {
      ended++;
    }
  }
  const body = pulled(source());
  assert.equal(body.stallMs, 60_000);
  const pieces: Buffer[] = [];
  for (let piece = body.pull(300); piece; piece = body.pull(300)) pieces.push(piece);
  assert.ok(pieces.every((piece) => piece.length <= 300));
  assert.deepEqual(Buffer.concat(pieces), Buffer.concat(chunks));
  const left = pulled(source());
  left.pull(1);
  left.pull(300);
  left.close();
  assert.equal(left.pull(300), null);
  assert.equal(ended, 2);
});

test('a backup of a running server says what is left of leases', async () => {
  const clock = new FakeClock();
  const storage = new MemoryStorage(clock);
  const lease = await storage.grant(60_000);
  const draft = { bytes: Buffer.from('{}'), revisionAt: -1 };
  await storage.create('/registry/core/events/default/a', { ...draft, lease });
  await storage.create('/registry/core/pods/default/b', draft);
  clock.advance(20_000);
  const handler = backupHandler({
    storage,
    clock,
    authorizer: { authorize: () => ({ decision: 'allow', reason: '' }) },
  });
  const context = { request: { method: 'GET' }, user: { name: 'u', groups: [] } };
  const { body } = await handler(context as unknown as RequestContext);
  const pieces: Buffer[] = [];
  for (let piece = (body as PullBody).pull(1 << 20); piece; piece = (body as PullBody).pull(1 << 20))
    pieces.push(piece);
  assert.deepEqual(
    decodeBackup(Buffer.concat(pieces)).entries.map((entry) => [entry.key, entry.remainingMs]),
    [
      ['/registry/core/events/default/a', 40_000],
      ['/registry/core/pods/default/b', undefined],
    ],
  );
});
