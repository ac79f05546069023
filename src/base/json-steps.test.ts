// In pieces JSON is read and written as at once, whatever the text; what JSON.parse refuses is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSteps, writeSteps } from './json-steps.ts';
import { atOnce } from './turns.ts';

/** The same sequence in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >> 8) % below;
  };
}

const names = ['a', 'b', '__proto__', '7', 'constructor', 'ä"\\', '', '{', ']'];
const scalars = [
  '',
  'text',
  '{"a":[',
  '\\"',
  '\n',
  'ü€😀',
  'x'.repeat(40),
  0,
  -1.5e-7,
  12,
  true,
  false,
  null,
];

function anyJson(next: (below: number) => number, depth: number): string {
  const kind = depth === 0 ? 2 : next(4);
  const space = [' ', '\n\t', '', ''][next(4)]!;
  if (kind > 1) return space + JSON.stringify(scalars[next(scalars.length)]);
  const members = Array.from({ length: next(6) }, () => {
    const member = anyJson(next, depth - 1);
    return kind === 0
      ? member
      : `${space}${JSON.stringify(names[next(names.length)])}${space}:${member}${space}`;
  });
  return `${space}${kind === 0 ? '[' : '{'}${members.join(`${space},`)}${space}${kind === 0 ? ']' : '}'}${space}`;
}

const outcome = (read: () => unknown): string => {
  try {
    // As text: the order of members counts, and `__proto__` is one of them.
    return JSON.stringify(read());
  } catch (error) {
    assert.ok(error instanceof SyntaxError);
    return 'refused';
  }
};

test('in pieces of any length a text means what JSON.parse reads, or is refused as there', () => {
  const next = numbers(1);
  let refused = 0;
  for (let i = 0; i < 4_000; i++) {
    let text = anyJson(next, 5);
    if (i % 2 === 1) {
      const at = next(text.length + 1);
      text =
        text.slice(0, at) +
        ['', ',', '}', ']', '{', '"', ':', '1', '\\', ' '][next(10)] +
        text.slice(at + next(3));
    }
    const expected = outcome(() => JSON.parse(text));
    if (expected === 'refused') refused++;
    for (const piece of [1, 5, 30])
      assert.equal(
        outcome(() => atOnce(parseSteps(text, JSON.parse, piece))),
        expected,
        `${piece}: ${text}`,
      );
  }
  assert.ok(refused > 500 && refused < 3_000, `${refused} were no JSON`);
});

test('in pieces of any length a value is written as JSON.stringify writes it', () => {
  const next = numbers(2);
  for (let i = 0; i < 2_000; i++) {
    const value = JSON.parse(anyJson(next, 7)) as unknown;
    for (const piece of [1, 20, 1_000]) {
      let text = '';
      atOnce(writeSteps(value, (part) => (text += part), piece));
      assert.equal(text, JSON.stringify(value));
    }
  }
});

test('what JSON has no word for is left out of objects, and null in lists', () => {
  const value = { a: undefined, b: [undefined, { c: undefined }], d: { e: undefined, f: 1 } };
  let text = '';
  atOnce(writeSteps(value, (part) => (text += part)));
  assert.equal(text, JSON.stringify(value));
});

test('a text of a megabyte takes many steps, each of which reads or writes a piece', () => {
  const map = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`key-${i}`, 'v']));
  const value = { a: map(9_000), b: { c: [map(9_000), map(40_000)] }, d: map(9_000) };
  const text = JSON.stringify(value);
  const longest: number[] = [];
  const parse = (piece: string): unknown => {
    longest.push(piece.length);
    return JSON.parse(piece);
  };
  let steps = 1;
  const reading = parseSteps(text, parse);
  let read = reading.next();
  for (; read.done !== true; read = reading.next()) steps++;
  assert.deepEqual(read.value, value);
  assert.ok(steps >= 8, `${steps} steps of ${text.length} characters`);
  assert.ok(Math.max(...longest) < 300_000, `${Math.max(...longest)} at once`);
  const pieces: string[] = [];
  const writing = writeSteps(value, (piece) => pieces.push(piece));
  for (steps = 1; writing.next().done !== true; ) steps++;
  assert.equal(pieces.join(''), text);
  assert.ok(steps >= 6, `${steps} steps`);
});

test('hundreds of containers in one another cost no more than a few: each was looked through for the end of a long text', () => {
  const cost = (levels: number, inside: string): number => {
    const text = `${'{"a":'.repeat(levels)}[${inside}]${'}'.repeat(levels)}`;
    const runs = Array.from({ length: 5 }, () => {
      const from = process.threadCpuUsage();
      assert.equal(JSON.stringify(atOnce(parseSteps(text, JSON.parse))).length > 0, true);
      const { user, system } = process.threadCpuUsage(from);
      return user + system;
    });
    return Math.min(...runs);
  };
  for (const inside of [`${' '.repeat(300_000)}1`, JSON.stringify('"'.repeat(150_000))]) {
    const [few, many] = [cost(4, inside), cost(480, inside)];
    assert.ok(many < 20 * few + 5000, `${many} µs, and ${few} µs with four`);
  }
});
