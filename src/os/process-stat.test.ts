// A line of /proc/PID/stat, whatever the program calls itself.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseProcessStat } from './process-stat.ts';

const line = (name: string, state: string, threads = 1): string =>
  `42 (${name}) ${state} 7 42 42 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 ${threads} 0 123456 1000 10\n`;

test('parent and start time are found behind any name', () => {
  for (const name of ['node', 'a b', 'x) S 9 (', ')))'])
    assert.deepEqual(parseProcessStat(line(name, 'S')), { parent: 7, startTicks: '123456', ended: false });
});

test('a zombie has ended', () => {
  assert.equal(parseProcessStat(line('node', 'Z')).ended, true);
});

test('a process whose first thread alone has ended has not', () => {
  assert.equal(parseProcessStat(line('node', 'Z', 3)).ended, false);
});
