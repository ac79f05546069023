// When `up` stops waiting for a process, and what it shows of the log.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doesNotStay } from './crash-check.ts';
import { lastWords } from './log-tail.ts';

const now = 1_000_000;

test('nobody waits for a process that ended again and is started later', () => {
  const role = 'server';
  const rows: [before: number, restarts: number, nextStartMs: number | undefined, gone: boolean][] = [
    [0, 0, undefined, false],
    [0, 1, undefined, false], // an accident: it runs again
    [0, 1, now, false], // its next start is due
    [0, 2, undefined, true],
    [7, 7, now + 60_000, false], // `up` asks for a start
    [7, 8, now + 60_000, true],
  ];
  for (const [before, restarts, nextStartMs, gone] of rows)
    assert.equal(
      doesNotStay({ restarts: before }, { role, restarts, nextStartMs }, now),
      gone,
      `${before} ${restarts} ${nextStartMs}`,
    );
  assert.equal(doesNotStay(undefined, undefined, now), false);
});

test('the last error is shown without what was logged before it', () => {
  const log =
    '{"level":30}\nporthole: old\n{"level":30}\nporthole: the store is damaged\n  next: restore it\n';
  assert.equal(lastWords(log), 'porthole: the store is damaged\n  next: restore it');
  assert.equal(lastWords('{"level":30}\n{"level":50}\n'), '{"level":30}\n{"level":50}');
});
