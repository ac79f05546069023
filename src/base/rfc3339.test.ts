// Times are read as Go reads them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRfc3339 } from './rfc3339.ts';

const at = (text: string): string => {
  const read = readRfc3339(text);
  return typeof read === 'number' ? new Date(read).toISOString() : String(read);
};

test('a time is what Go reads in it', () => {
  for (const [text, time] of [
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000Z'],
    ['2026-01-01T02:30:00.123456+02:30', '2026-01-01T00:00:00.123Z'],
    ['2025-12-31T23:00:00-01:00', '2026-01-01T00:00:00.000Z'],
    ['2024-02-29T3:04:05,5Z', '2024-02-29T03:04:05.500Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ] as const)
    assert.equal(at(text), time, text);
});

test('what is no time of Go is none, and a part out of its range is told', () => {
  for (const text of [
    '',
    'soon',
    '2026-01-01',
    '2026-01-01 00:00:00Z',
    '2026-01-01T00:00:00',
    'Jan 1, 2026',
    '2026',
    '1767225600000',
    '2026-01-01t00:00:00z',
    '+002026-01-01T00:00:00Z',
  ])
    assert.equal(at(text), 'undefined', text);
  for (const [text, part] of [
    ['2026-02-30T00:00:00Z', 'day'],
    ['2026-02-00T00:00:00Z', 'day'],
    ['2025-02-29T00:00:00Z', 'day'],
    ['2026-13-01T00:00:00Z', 'month'],
    ['2026-01-01T24:00:00Z', 'hour'],
    ['2026-01-01T00:60:00Z', 'minute'],
    ['2026-01-01T00:00:60Z', 'second'],
    ['2026-01-01T00:00:00+25:00', 'time zone offset hour'],
  ] as const)
    assert.equal(at(text), part, text);
});
