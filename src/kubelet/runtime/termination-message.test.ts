// The end of a log as the message of a container that failed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logText } from './termination-message.ts';

const record = (text: string, tag = 'F', stream = 'stdout'): string =>
  `2026-01-01T00:00:00.123456789Z ${stream} ${tag} ${text}\n`;
const text = (log: string): string => logText(Buffer.from(log));

test('the end of a log is its text without times and streams', () => {
  assert.equal(text(`${record('one')}${record('two', 'F', 'stderr')}broken\n`), 'one\ntwo\n');
  assert.equal(text(record('')), '\n');
  assert.equal(text(''), '');
});

test('what was written without a line feed gets none, and the parts of a line are one', () => {
  assert.equal(text(record('DONE', 'P')), 'DONE');
  assert.equal(text(record('a', 'P') + record('b', 'P:x') + record('c')), 'abc\n');
});

test('eighty lines and 2048 bytes are the most, cut between characters', () => {
  assert.equal(text(Array.from({ length: 100 }, (_, i) => record(`${i}`)).join('')).split('\n')[0], '20');
  assert.equal(text(record('x'.repeat(16 << 10), 'P')), 'x'.repeat(2048));
  for (const character of ['é', '€', '😀']) {
    const message = text(record(`${character.repeat(2048)}.`, 'P'));
    assert.equal(Buffer.byteLength(message), 2048 - (2047 % Buffer.byteLength(character)));
    assert.equal(message.replaceAll(character, ''), '.');
  }
  assert.equal(
    logText(Buffer.concat([Buffer.from('t stdout P '), Buffer.alloc(9, 0x80), Buffer.from('\n')])).length,
    6,
  );
});
