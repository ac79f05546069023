// What is laid out over lines, and what is not: the one stays as it was, the other does not grow.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { htmlSafeJson } from './html-safe-json.ts';
import { writeYaml, writeYamlItem } from './yaml-writer.ts';

const nested = (depth: number): unknown => (depth === 0 ? [] : [nested(depth - 1)]);

test('what would be little else than spaces stays in one line', () => {
  const usual = { a: [{ b: 1 }, { c: [2] }], d: nested(20) };
  assert.equal(htmlSafeJson(usual, 2), JSON.stringify(usual, undefined, 2));
  const deep = { many: Array.from({ length: 100 }, () => nested(470)) };
  assert.equal(htmlSafeJson(deep, 2), JSON.stringify(deep));
  assert.deepEqual(parse(writeYaml(deep)), deep);
  assert.ok(writeYaml(deep).length < 200_000);
  assert.deepEqual(parse(`items:\n${writeYamlItem(deep)}${writeYamlItem(usual)}`), { items: [deep, usual] });
});

test('what is laid out is at most fifty times what it was', () => {
  for (const depth of [1, 10, 40, 50, 100, 200])
    for (const width of [1, 3, 100]) {
      const value = Array.from({ length: width }, () => nested(depth));
      const [length, text] = [JSON.stringify(value).length, htmlSafeJson(value, 2)];
      assert.ok(text.length < 4_096 + 60 * length, `${depth} ${width}`);
    }
});
