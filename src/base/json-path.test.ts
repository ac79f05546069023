// The paths of printer columns.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJsonPath } from './json-path.ts';

const object = {
  metadata: { annotations: { 'a.b/c': 'yes' }, name: 'n' },
  spec: {
    list: [
      { name: 'x', port: 1 },
      { name: 'y', port: 2 },
    ],
  },
  status: {
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Other', status: 'False' },
    ],
  },
};
const find = (path: string): unknown[] => parseJsonPath(path).find(object);

test('names, indices, wildcards and filters lead to values', () => {
  assert.deepEqual(find('.metadata.name'), ['n']);
  assert.deepEqual(find('{.metadata.name}'), ['n']);
  assert.deepEqual(find('$.spec.list[0].name'), ['x']);
  assert.deepEqual(find('.spec.list[-1].port'), [2]);
  assert.deepEqual(find('.spec.list[*].port'), [1, 2]);
  assert.deepEqual(find('.status.conditions[?(@.type=="Ready")].status'), ['True']);
  assert.deepEqual(find(".status.conditions[?(@.type != 'Ready')].status"), ['False']);
  assert.deepEqual(find('.spec.list[?(@.port==2)].name'), ['y']);
  assert.deepEqual(find('.metadata.annotations.a\\.b/c'), ['yes']);
  assert.deepEqual(find(".metadata.annotations['a\\.b/c']"), ['yes']);
  assert.deepEqual(find(".metadata.annotations['a.b/c']"), [], 'it is a path of its own');
});

test('slices, several at once and comparisons lead to values, in lists alone', () => {
  assert.deepEqual(find('.status.conditions[-1:].type'), ['Other']);
  assert.deepEqual(find('.spec.list[:1].name'), ['x']);
  assert.deepEqual(find('.spec.list[0:2:2].name'), ['x']);
  assert.deepEqual(find('.spec.list[1,0].name'), ['y', 'x']);
  assert.deepEqual(find('.spec.list[0,9].name'), []);
  assert.deepEqual(find(".spec.list[0]['port','name']"), [1, 'x']);
  assert.deepEqual(find('.spec.list[?(@.port>1)].name'), ['y']);
  assert.deepEqual(find('.spec.list[?(@.name<="x")].port'), [1]);
  assert.deepEqual(find('.spec.list[?(@.name>1)].port'), []);
  assert.deepEqual(find('.spec.list[?(@.port)].port'), [1, 2]);
  assert.deepEqual(find('.metadata[*]'), []);
});

test('what is not there is no value, and nothing of a prototype is ever found', () => {
  for (const path of ['.nope', '.metadata.name.deeper', '.spec.list[9]', '.__proto__', '.constructor.name'])
    assert.deepEqual(find(path), [], path);
});

test('a path that can not be read is an error', () => {
  for (const path of [
    '.a[',
    '.a[?(',
    '.a[?(@.b)]extra[',
    '....a',
    '..*',
    '.a["b"]',
    '.a[ 0 ]',
    '.a,',
    '.a[?(@==)]',
    '.a[-]',
  ])
    assert.throws(() => parseJsonPath(path), path);
});

test('the first of many is found without looking at the others, and not at any price', () => {
  const value = { spec: Array.from({ length: 1_000 }, (_, i) => ({ name: `n${i}` })) };
  const looks = { left: 1_100 };
  assert.equal(parseJsonPath('.spec[*].name').first(value, looks), 'n0');
  assert.ok(looks.left > 90, String(looks.left));
  assert.equal(parseJsonPath('.spec[?(@.name=="n999")].name').first(value, { left: 5_000 }), 'n999');
  const missing = parseJsonPath('.spec[*].other');
  const few = { left: 1_500 };
  assert.equal(missing.first(value, few), undefined);
  assert.equal(few.left, 0, 'nothing is left');
  assert.equal(parseJsonPath('.spec').first(value, few), undefined);
  assert.equal(parseJsonPath('.spec[?(@.name!="n0")].name').first(value, { left: 1_500 }), undefined);
});

test('two dots lead to whatever has the name, at any depth, and to all that holds something', () => {
  assert.deepEqual(find('..name'), ['n', 'x', 'y']);
  assert.deepEqual(find('.spec..port'), [1, 2]);
  assert.deepEqual(find('...name'), find('..name'));
  assert.deepEqual(find('..list[1].name'), ['y']);
  assert.deepEqual(find('..conditions[?(@.type=="Ready")].status'), ['True']);
  assert.deepEqual(find('.metadata..'), [object.metadata, object.metadata.annotations]);
  assert.deepEqual(find('..missing'), []);
  const looks = { left: 5 };
  assert.equal(parseJsonPath('..name').first(object, looks), undefined);
});

test('a filter has no other one in it', () => {
  for (const depth of [2, 200_000])
    assert.throws(() => parseJsonPath(`.spec.list${'[?(@.list'.repeat(depth)}${')]'.repeat(depth)}`));
  assert.deepEqual(find('.spec.list[?(@.name == "x)]")].name'), []);
});

test('an index that is not there is the end of all, also of what was found before; a name is not', () => {
  const value = { list: [{ of: [1] }, { of: [] }, { no: [2] }], map: { a: 1 } };
  const found = (path: string): unknown[] => parseJsonPath(path).find(value);
  assert.deepEqual(found('.list[*].of'), [[1], []]);
  for (const path of [
    '.list[*].of[0]',
    '.list[0:4].of',
    '.list[2:1]',
    '.list[0,3]',
    '.list[0:2:0]',
    '.map[0]',
  ])
    assert.deepEqual(found(path), [], path);
  assert.equal(parseJsonPath('.list[*].of[0]').first(value, { left: 1_000 }), undefined);
  assert.deepEqual(found(".map['b','a']"), [1]);
  assert.deepEqual(found('.list[].of'), [[1]]);
});

test('a filter compares what is there with its own kind, and leaves lists alone that are none', () => {
  assert.deepEqual(find('.status.conditions[?(@.reason!="Fine")].type'), [], 'none has a reason');
  assert.deepEqual(find('.status.conditions[?(@.type==Ready)].status'), [], 'a text has quotes');
  assert.deepEqual(find('.spec.list[?(@.port!="1")].name'), []);
  assert.deepEqual(find('.spec.list[?(@.port<=1)].name'), ['x']);
  assert.deepEqual(find('.spec.list[?(@.port==@.port)].name'), ['x', 'y']);
  assert.deepEqual(find('.metadata[?(@.x!="y")]'), []);
  const long = { list: [{ n: 2n ** 60n }, { n: 2 }] };
  assert.deepEqual(parseJsonPath('.list[?(@.n>2)]').find(long), [long.list[0]]);
  assert.deepEqual(parseJsonPath('.list[?(@.n==1152921504606846976)]').find(long), [long.list[0]]);
});

test('a path may be as long as somebody writes it', () => {
  for (const part of ['"x" ', '.a', '[0]', "['a']", '1 ', 'true ']) {
    const path = parseJsonPath(`.spec.list${part.repeat(20_000)}`);
    assert.doesNotThrow(() => path.first(object, { left: 1_000 }), part);
  }
  assert.throws(() => parseJsonPath(`.a[${' '.repeat(20_000)}0,1${' '.repeat(20_000)}x]`));
});

test('a long text that is come to again and again is not compared as often, nor are a thousand places looked for where nothing is left', () => {
  const text = 'x'.repeat(1 << 20);
  const value = { list: [[{ text }]] };
  const again = `.list[${Array(50).fill('0').join(',')}]`;
  const equal = parseJsonPath(`${again}[?(@.text=="${text}")]`);
  assert.deepEqual(equal.first(value, { left: 100_000 }), { text });
  assert.equal(parseJsonPath(`${again}[?(@.text=="y${text}")]`).first(value, { left: 10_000 }), undefined);
  const looks = { left: 10_000 };
  parseJsonPath(`${again}[?(@.text=="y${text}")]`).first(value, looks);
  assert.ok(looks.left <= 0, String(looks.left));
  let reads = 0;
  const counted = new Proxy([], {
    get(list, name) {
      reads++;
      return Reflect.get(list, name);
    },
  });
  const several = `.list[${Array(1_000).fill('0').join(',')}]`;
  assert.equal(parseJsonPath(several).first({ list: counted }, { left: 2_000 }), undefined);
  assert.ok(reads < 10, String(reads));
});

test('where nothing is held many paths are many looks, and a list of any length breaks none', () => {
  const several = `[${Array(1_000).fill("'a'").join()}]`;
  for (const [path, item] of [
    [`.list[*]${several}`, null],
    [`.list[*]${several}`, 1],
    [`.list[?(@${several})]`, 1],
  ] as const) {
    const looks = { left: 10_000 };
    assert.equal(parseJsonPath(path).first({ list: Array(1_000).fill(item) }, looks), undefined);
    assert.ok(looks.left <= 0, path);
  }
  const text = 'x'.repeat(100_000);
  const looks = { left: 10_000 };
  const list = Array(5_000).fill(1);
  assert.equal(parseJsonPath(`.list[?("${text}"=="${text}y")]`).first({ list }, looks), undefined);
  assert.ok(looks.left > -1_000, 'no more are compared than there are looks for');
  const long = { list: Array(300_000).fill(1) };
  assert.equal(parseJsonPath('.list[0:,0:]').first(long, { left: 100_000 }), undefined);
});

test('a list has no names: neither its length nor its places are shown to who leaves the brackets out', () => {
  const value = { list: [{ a: 1 }], named: { '0': 'zero', length: 'long' } };
  for (const path of ['.list.length', '.list.0', '.list.0.a', "['list']['0']"])
    assert.deepEqual(parseJsonPath(path).find(value), [], path);
  assert.deepEqual(parseJsonPath('..length').find(value), ['long']);
  assert.deepEqual(parseJsonPath('.named.0').find(value), ['zero']);
});
