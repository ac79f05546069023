// Durations as Go's time.Duration.String and time.ParseDuration have them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatGoDuration, parseGoDuration, readGoDuration } from './go-duration.ts';

const rows: readonly (readonly [string, number])[] = [
  ['0s', 0],
  ['1ms', 1],
  ['1.5ms', 1.5],
  ['999ms', 999],
  ['1s', 1_000],
  ['1.234s', 1_234],
  ['1m0s', 60_000],
  ['1m15.1s', 75_100],
  ['1h0m0s', 3_600_000],
  ['8760h0m0s', 365 * 24 * 3_600_000],
  ['100h3m0.5s', 360_180_500],
];
for (const [text, ms] of rows)
  test(`${text} is ${ms} ms`, () => {
    assert.equal(formatGoDuration(ms), text);
    assert.equal(parseGoDuration(text), ms);
  });

test('other spellings are read, too; what Go refuses is refused', () => {
  assert.equal(parseGoDuration('8760h'), 365 * 24 * 3_600_000);
  assert.equal(parseGoDuration('1.5h'), 5_400_000);
  assert.equal(parseGoDuration('0'), 0);
  for (const text of ['', '1', 'h', '1d', '-', '1h x', ' 1h', '.h', '1h1'])
    assert.equal(parseGoDuration(text), undefined, text);
});

test('what is less than a millisecond is told in its own units', () => {
  assert.equal(formatGoDuration(0.5), '500µs');
  assert.equal(formatGoDuration(0.0015), '1.5µs');
  assert.equal(formatGoDuration(0.0003), '300ns');
  assert.equal(formatGoDuration(1e-9), '0s');
});

test('what is wrong with a duration is told as Go tells it', () => {
  const read: readonly (readonly [string, number])[] = [
    ['0', 0],
    ['-0', 0],
    ['1h', 3_600_000],
    ['+1.5h', 5_400_000],
    ['-.5ms', -0.5],
    ['1.s', 1000],
    ['500us', 0.5],
    ['1s250ms', 1250],
    ['00s', 0],
  ];
  for (const [text, ms] of read) assert.equal(readGoDuration(text), ms, text);
  assert.equal(Math.round(Number(readGoDuration('3ns4us5µs6μs7ms')) * 1e6), 7_015_003);
  const refused: readonly (readonly [string, string])[] = [
    ['', 'time: invalid duration ""'],
    ['-', 'time: invalid duration "-"'],
    ['.s', 'time: invalid duration ".s"'],
    ['1h x', 'time: unknown unit "h x" in duration "1h x"'],
    ['1h1', 'time: missing unit in duration "1h1"'],
    ['1.5.2s', 'time: missing unit in duration "1.5.2s"'],
    ['1d', 'time: unknown unit "d" in duration "1d"'],
    ['--1s', 'time: invalid duration "--1s"'],
  ];
  for (const [text, why] of refused) assert.equal(readGoDuration(text), why);
});
