// What is told of the slowest files: by the clock, and by the processors' time of all their processes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { endedChildrenSeconds, FileTimes } from './file-times.ts';

test('the slowest files are told, each with all its tests', () => {
  const times = new FileTimes();
  times.add('a', 1);
  times.add('b', 2.25);
  times.add('a', 2);
  times.add('quick', 0.1);
  times.add('box', 0.5);
  times.set('box', { seconds: 100, cpuSeconds: 30 });
  assert.deepEqual(times.slowest(3), [
    '   100.0 s  box, 30.0 s of processor time',
    '     3.0 s  a',
    '     2.3 s  b',
  ]);
});

test('the time of children is read whatever the process is called', () => {
  const fields = 'R 1 1 1 0 -1 0 0 0 0 0 50 60 150 250 20 0';
  assert.equal(endedChildrenSeconds(`7 (node) ${fields}`), 4);
  assert.equal(endedChildrenSeconds(`7 (a) b (c d) ${fields}`), 4);
});

test('the time of a child that has ended is in it, and of what the child waited for', () => {
  const before = endedChildrenSeconds();
  const work =
    'const used = () => process.cpuUsage().user + process.cpuUsage().system; while (used() < 300_000);';
  const parent = `require('node:child_process').spawnSync(process.execPath, ['-e', ${JSON.stringify(work)}])`;
  assert.equal(spawnSync(process.execPath, ['-e', parent]).status, 0);
  assert.ok(endedChildrenSeconds() - before >= 0.3);
});
