// What is told of a file that is looked at now and then: its changes, and that it can't be read.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { watchFile } from './watched-file.ts';

const root = mkdtempSync(join(tmpdir(), 'watched-file-'));
after(() => rmSync(root, { recursive: true }));

test('a file that is away is told at each look, and looked for again; a pipe in its place stops nobody', () => {
  const clock = new FakeClock();
  const path = join(root, 'file');
  writeFileSync(path, 'one');
  const told: string[] = [];
  const file = watchFile(path, clock, {
    everyMs: 1_000,
    changed: (text) => told.push(text),
    unread: (error) => told.push((error as NodeJS.ErrnoException).code ?? (error as Error).message),
  });
  clock.advance(1_000);
  rmSync(path);
  clock.advance(2_000);
  assert.equal(spawnSync('mkfifo', [path]).status, 0);
  clock.advance(1_000);
  assert.equal(file.text, 'one');
  rmSync(path);
  writeFileSync(path, 'two');
  clock.advance(1_000);
  file.stop();
  assert.deepEqual(told, ['ENOENT', 'ENOENT', `${path} is no regular file`, 'two']);
  assert.equal(clock.pending, 0);
});

test('a file of more than 3 MiB is read by nobody: not at first, and later what was there before holds', () => {
  const clock = new FakeClock();
  const path = join(root, 'large');
  writeFileSync(path, 'one');
  const told: string[] = [];
  const options = {
    everyMs: 1_000,
    changed: (text: string) => void told.push(text),
    unread: (error: unknown) => void told.push((error as Error).message),
  };
  const file = watchFile(path, clock, options);
  truncateSync(path, (3 << 20) + 1);
  clock.advance(1_000);
  const message = `${path} has 3145729 bytes: a configuration file may have 3145728 (3 MiB)`;
  assert.deepEqual([file.text, told], ['one', [message]]);
  file.stop();
  assert.throws(() => watchFile(path, clock, options), { message });
});
