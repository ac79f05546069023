// Budgets and cancelling: a run ends when it has cost too much, or when nobody waits for it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { intType, listOf } from './cel-type.ts';
import { CheckedExpression, compileExpression } from './compile.ts';
import { Environment, languageLibraries } from './environment.ts';
import { bindings } from './libraries/bindings.ts';
import type { Limits } from './program.ts';
import { ValueList } from './value.ts';
import { formatValue } from './value-text.ts';

const environment = new Environment({
  libraries: [...languageLibraries, bindings],
  variables: { l: listOf(intType) },
});
const l = new ValueList(Array.from({ length: 1_000 }, (_, i) => BigInt(i)));
function run(text: string, limits: Limits = {}): [value: string, cost: number] {
  const compiled = compileExpression(text, environment);
  assert.ok(compiled instanceof CheckedExpression, String(compiled));
  const { value, cost } = compiled.program().run({ l }, limits);
  return [formatValue(value), cost];
}

test('a run that costs more than its budget is over', () => {
  const text = 'l.all(x, l.all(y, x != y || x == y))';
  const [value, cost] = run(text, { cost: 10_000 });
  assert.equal(value, 'operation cancelled: actual cost limit exceeded');
  assert.ok(cost > 10_000 && cost < 10_010, String(cost));
  assert.deepEqual(run('l.size()', { cost: 2 }), ['1000', 2]);
  // An error that is a value may be absorbed; this one not.
  assert.equal(
    run(`${text} || true`, { cost: 10_000 })[0],
    'operation cancelled: actual cost limit exceeded',
  );
});

test('a run that nobody waits for ends', () => {
  let asked = 0;
  const stopped = (): boolean => ++asked === 3;
  assert.equal(run('l.all(x, l.all(y, x != y || x == y))', { stopped })[0], 'operation interrupted');
  assert.equal(asked, 3);
});

test('a bound name is evaluated once, when it is asked for', () => {
  assert.deepEqual(run('cel.bind(s, l.size(), s + s)'), ['2000', 2 + 2 + 1]);
  assert.deepEqual(run('cel.bind(s, 1 / l[0], true)'), ['true', 0]);
  assert.deepEqual(run('cel.bind(e, [], (e + [1] == e + [2]))')[0], 'false');
});

test('long lists are made in linear time', () => {
  const [value] = run('l.map(x, l.map(y, y)).map(z, z.size()).all(n, n == 1000)');
  assert.equal(value, 'true');
});

test('a variable that an expression does not name is not asked for', () => {
  const asked: string[] = [];
  const variables = {
    get l() {
      asked.push('l');
      return l;
    },
    get other() {
      asked.push('other');
      return 1n;
    },
  };
  const both = environment.extend({ variables: { other: intType } });
  const ask = (text: string): void => {
    const compiled = compileExpression(text, both);
    assert.ok(compiled instanceof CheckedExpression, String(compiled));
    compiled.program().run(variables);
  };
  ask('[1].all(l, l == 1)');
  assert.deepEqual(asked, []);
  ask('l.size() == 0 && other == 1');
  assert.deepEqual(asked, ['l', 'other']);
  ask('[1].all(x, x < other)');
  assert.deepEqual(asked, ['l', 'other', 'other']);
});
