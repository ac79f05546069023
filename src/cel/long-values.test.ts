// Texts and maps of a hostile size in loops whose rounds cost upstream a step or two: a run of them ends soon.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dynType } from './cel-type.ts';
import { jsonValue } from './json-values.ts';
import { kubernetesEnvironment } from './libraries/kubernetes.ts';
import { checkedExpression } from './testing/expressions.ts';
import { formatValue } from './value-text.ts';

const environment = kubernetesEnvironment.extend({ variables: { o: dynType } });
const cost = 1_000_000;
const keys = Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [`k${i}`, 'v']));
const wide = '😀'.repeat(200_000);
const over = 'operation cancelled: actual cost limit exceeded';

/** What it gives, and the milliseconds of processor time that it took. */
function run(text: string, o: Record<string, unknown>): [value: string, ms: number] {
  const program = checkedExpression(text, environment).program();
  const from = process.cpuUsage();
  const { value } = program.run({ o: jsonValue(o as never) }, { cost });
  const { user } = process.cpuUsage(from);
  return [formatValue(value), user / 1000];
}

/** Each took between ten seconds and some minutes. */
const loops: readonly (readonly [text: string, o: Record<string, unknown>, value: string])[] = [
  ['o.m.all(k, o.x.charAt(100000) != "")', { m: keys, x: wide }, over],
  ['o.m.all(k, o.x.size() > 0)', { m: keys, x: wide }, over],
  ['o.m.all(k, !isSemver(o.x))', { m: keys, x: `1.0.0-${'a.'.repeat(300_000)}` }, over],
  ['o.m.all(k, o.x != "y")', { m: keys, x: wide }, 'true'],
  ['o.m.all(k, o.m.size() == 9000)', { m: keys }, 'true'],
  ['o.m.all(k, o.m == o.m)', { m: keys }, over],
  ['o.l.all(x, o.l.indexOf(x) == o.l.lastIndexOf(x))', { l: Object.keys(keys) }, over],
  ['o.l.all(x, o.l.indexOf(x) == o.l.lastIndexOf(x))', { l: Object.keys(keys).slice(0, 2000) }, 'true'],
  ['url(o.x).getQuery()["a"].size()', { x: `http://h/?${'a=b&'.repeat(200_000)}` }, '200000'],
  [
    '[url(o.x)].all(u, o.l.all(i, u.getQuery()["a"].size() == 20000))',
    { x: `http://h/?${'a=b&'.repeat(20_000)}`, l: Array.from({ length: 3000 }, (_, i) => i) },
    'true',
  ],
];

for (const [text, o, value] of loops)
  test(`${text} ends soon`, () => {
    const [found, ms] = run(text, o);
    assert.equal(found, value);
    assert.ok(ms < 6000, `${ms} ms`);
  });

test('what is read of short texts is not counted, and of long ones as a traversal of them', () => {
  assert.equal(run('o.m.all(k, k.charAt(0) == "k")', { m: keys })[0], 'true');
  // A tenth of a step each: 90 times 100,000 characters are 900,000 steps.
  const long = 'a'.repeat(100_000);
  const times = (count: number) => ({ l: Array.from({ length: count }, (_, i) => i), x: long });
  assert.equal(run('o.l.all(i, o.x.charAt(0) == "a")', times(90))[0], 'true');
  assert.equal(run('o.l.all(i, o.x.charAt(0) == "a")', times(110))[0], over);
});

test('characters are found behind those of two units', () => {
  assert.equal(run('o.x.charAt(1) + o.x.charAt(2) + o.x.charAt(3)', { x: 'a😀b' })[0], '😀b');
  assert.equal(run('o.x.charAt(4)', { x: 'a😀b' })[0], 'index out of range: 4');
  assert.equal(run('o.x.charAt(-1)', { x: 'a' })[0], 'index out of range: -1');
});

test('a shorter text decides what a comparison costs, whichever units it has', () => {
  const costOf = (text: string, o: Record<string, unknown>): number =>
    checkedExpression(text, environment)
      .program()
      .run({ o: jsonValue(o as never) }).cost;
  const long = 'b'.repeat(1000);
  // Of 400 units and 200 characters, before and after one of 300 of both.
  const [pairs, plain] = ['😀'.repeat(200), 'a'.repeat(300)];
  const base = costOf('o.a == o.b', { a: '', b: long });
  for (const [a, b, size] of [
    [pairs, plain, 200],
    [plain, pairs, 200],
    [plain, long, 300],
    ['é', long, 10],
  ] as const)
    assert.equal(costOf('o.a == o.b', { a, b }), base + Math.ceil(size / 10), `${a.length} ${b.length}`);
});

test('sizes are those of the value as it is, in each run', () => {
  const object: Record<string, unknown> = { m: { ...keys } };
  assert.equal(run('o.m.size()', object)[0], '9000');
  delete (object['m'] as Record<string, unknown>)['k0'];
  assert.equal(run('o.m.size()', object)[0], '8999');
});
