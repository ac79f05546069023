// What Go escapes in JSON, and that it stays the same value.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { htmlSafeJson } from './html-safe-json.ts';

test('what HTML would read, and what ends a line of a script, is written by its number', () => {
  const value = { rule: 'a < b && c > d', text: ['\u2028', '\u2029', 'ä', '\\u003c'] };
  const text = htmlSafeJson(value);
  assert.equal(
    text,
    '{"rule":"a \\u003c b \\u0026\\u0026 c \\u003e d","text":["\\u2028","\\u2029","ä","\\\\u003c"]}',
  );
  assert.deepEqual(JSON.parse(text), value);
});
