// Lists with numbers that no double holds: all as by the exact reader, and the other objects as fast as ever.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLongNumbers } from '../apimachinery/serializer/json-numbers.ts';
import { readObjectList } from './object-list.ts';

const most = '9223372036854775807';
const item = (name: string, rest = ''): string => `{"metadata":{"name":"${name}"}${rest}}`;
const list = (...items: string[]): string =>
  `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"c"},"items":[${items.join()}]}\n`;

test('a list is read as it was written, whatever its texts look like', () => {
  const rows = [
    list(),
    list(item('a')),
    list(
      item('a', `,"spec":{"seconds":${most},"list":[{"n":[-${most}]},{}]}`),
      item('b'),
      item('c', ',"n":1.5'),
    ),
    list(item('a', String.raw`,"text":"}]\\\"{[ : 1234567890123456"`), item('b', `,"n":${most}`)),
    list(item('a', String.raw`,"text":"\\"`), item('b', `,"items":[{"n":${most}}],"text":"\\\\"`)),
    `{"items":[${item('a', `,"n":${most}`)}],"metadata":{"resourceVersion":"7","remainingItemCount":${most}}}`,
    `{"metadata":{"remainingItemCount":${most}},"items":[]}`,
    `{"metadata":{"remainingItemCount":${most}},"items":null}`,
  ];
  for (const text of rows) {
    const { items, metadata } = parseLongNumbers(text) as Record<string, unknown>;
    const read = readObjectList(text);
    assert.deepEqual(read.items, items, text);
    assert.equal(
      JSON.stringify(read.metadata.resourceVersion),
      JSON.stringify((metadata as never)['resourceVersion']),
    );
  }
  assert.equal(JSON.stringify(readObjectList(rows[2]!)), rows[2]!.trim());
});

test('a list that is cut off is an error', () => {
  const whole = list(item('a', `,"n":${most}`), item('b'));
  for (const end of [20, whole.indexOf('"b"'), whole.length - 3])
    assert.throws(() => readObjectList(whole.slice(0, end)), SyntaxError);
});
