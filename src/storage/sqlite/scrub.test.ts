// What is forgotten is in no file any more, and what is there stays, also after a crash.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { systemClock } from '../../component-base/system-clock.ts';
import type { Storage } from '../storage.ts';
import { openSqliteStorage } from './sqlite-storage.ts';

const root = mkdtempSync(join(tmpdir(), 'scrub-'));
after(() => rmSync(root, { recursive: true }));

const open = (directory: string): Promise<Storage> => openSqliteStorage({ directory, clock: systemClock });
const bytesIn = (folder: string): string =>
  readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join('');
const draft = (text: string) => ({ bytes: Buffer.from(`{"v":"${text}"}`), revisionAt: -1 });

test('nothing of what was written over or deleted is left, small or large, and all else is', async () => {
  const directory = join(root, 'one');
  const storage = await open(directory);
  const large = 'plain-large'.repeat(2_000);
  for (let i = 0; i < 50; i++) {
    const small = await storage.create(`/registry/a/${i}`, draft(`plain-small-${i}`));
    const big = await storage.create(`/registry/b/${i}`, draft(large));
    assert.ok(small.ok && big.ok);
    await storage.update(small.entry.key, draft(`kept-${i}`), small.entry.revision);
    await storage.delete(big.entry.key, draft('gone'), big.entry.revision);
  }
  assert.ok(bytesIn(directory).includes('plain-small-7'));
  await storage.scrub!();
  assert.ok(!bytesIn(directory).includes('plain-'));
  await storage.create('/registry/c', draft('later'));
  // As a kill would leave it.
  const copy = join(root, 'copy');
  cpSync(directory, copy, { recursive: true });
  await storage.close();
  for (const folder of [directory, copy]) {
    const again = await open(folder);
    const { entries } = await again.list('/registry/');
    assert.equal(entries.length, 51);
    assert.equal((await again.get('/registry/a/7'))?.value.toString(), '{"v":"kept-7"}');
    assert.equal((await again.get('/registry/c'))?.value.toString(), '{"v":"later"}');
    await again.close();
  }
});
