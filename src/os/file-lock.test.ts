// Locks of files across processes, and files of locks that are removed while others wait for them.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { takeFileLock, withFileLock } from './file-lock.ts';
import { linuxProcesses } from './linux/processes-linux.ts';

test('whoever waits for a lock whose file was removed does not share it with one who came later', async (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'porthole-lock-'));
  t.after(() => rmSync(scratch, { recursive: true, force: true }));
  const folder = join(scratch, 'locks');
  const file = join(folder, 'one');
  const makeFolder = (): void => void mkdirSync(folder, { recursive: true });
  let inside = 0;
  let worst = 0;
  let done = 0;
  const work = (): Promise<void> =>
    withFileLock(
      linuxProcesses,
      file,
      async () => {
        worst = Math.max(worst, ++inside);
        await new Promise((resolve) => setImmediate(resolve));
        // As the last `down` does.
        rmSync(folder, { recursive: true });
        inside--;
        done++;
      },
      makeFolder,
    );
  await Promise.all(Array.from({ length: 12 }, work));
  assert.equal(done, 12);
  assert.equal(worst, 1);
});

test('who does not want to wait is told that a lock is taken, until it is given back', async (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'porthole-lock-'));
  t.after(() => rmSync(scratch, { recursive: true, force: true }));
  const file = join(scratch, 'lock');
  const first = await takeFileLock(linuxProcesses, file, { wait: false });
  assert.equal(await takeFileLock(linuxProcesses, file, { wait: false }), undefined);
  first?.release();
  const second = await takeFileLock(linuxProcesses, file, { wait: false });
  assert.ok(second);
  second.release();
});

test('nobody else can open a lock, also one that was there with another mode', async (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'porthole-lock-'));
  t.after(() => rmSync(scratch, { recursive: true, force: true }));
  const [fresh, old] = [join(scratch, 'fresh'), join(scratch, 'old')];
  writeFileSync(old, '');
  chmodSync(old, 0o666);
  for (const file of [fresh, old]) {
    await withFileLock(linuxProcesses, file, async () => {});
    assert.equal(statSync(file).mode & 0o777, 0o600, file);
  }
});
