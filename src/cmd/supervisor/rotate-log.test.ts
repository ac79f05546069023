// Logs stay small in size and number, while another process goes on appending.
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { rotateServerLog } from './rotate-log.ts';

test('a log is bounded in size and in the number of its old files', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-rotate-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'server.log');
  const limits = { maxBytes: 1000, keep: 2 };
  let rotations = 0;
  for (let i = 0; i < 400; i++) {
    appendFileSync(file, `line ${String(i).padStart(4, '0')}\n`);
    if (rotateServerLog(file, limits)) rotations++;
    assert.ok(statSync(file).size <= limits.maxBytes);
  }
  assert.equal(rotations, 3);
  assert.deepEqual(readdirSync(folder).sort(), ['server.log', 'server.log.1', 'server.log.2']);
  assert.match(readFileSync(`${file}.1`, 'utf8'), /line 0302\n$/);
});

test('a log that can not be copied is emptied all the same', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-rotate-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'server.log');
  appendFileSync(file, 'x'.repeat(2000));
  // As with a full disk, the copy can't be written: a folder stands in its place.
  mkdirSync(`${file}.1`);
  assert.equal(rotateServerLog(file, { maxBytes: 1000, keep: 1 }), true);
  assert.equal(statSync(file).size, 0);
});
