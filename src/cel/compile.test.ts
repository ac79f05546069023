// Expressions, from text to value: what they give, what they cost, and what is said of their faults.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dynType, intType, listOf, stringType } from './cel-type.ts';
import { CheckedExpression, compileExpression } from './compile.ts';
import { Environment, languageLibraries } from './environment.ts';
import { formatValue } from './value-text.ts';

const environment = new Environment({
  libraries: languageLibraries,
  variables: { i: intType, s: stringType, l: listOf(intType), d: dynType },
});
const variables = { i: 5n, s: 'text', d: 7n };

function run(text: string): [value: string, cost: number] {
  const compiled = compileExpression(text, environment);
  assert.ok(compiled instanceof CheckedExpression, `${text}: ${compiled}`);
  const { value, cost } = compiled.program().run(variables);
  return [formatValue(value), cost];
}

test('expressions give values, at the cost that cel-go counts', () => {
  const table: [text: string, value: string, cost: number][] = [
    ['1 + 2 * 3', '7', 2],
    ['i > 3 && s.startsWith("te")', 'true', 4],
    ['[1, 2, 3].map(x, x * 2)', '[2, 4, 6]', 43],
    ['i in [1, 5]', 'true', 1],
    ['1 / 0 > 1 || true', 'true', 2],
    ['1 / 0 > 1', 'division by zero', 2],
    ['{"a": 1}.?b.orValue(7)', '7', 1],
    ['[1, 2, 3].transformMap(k, v, v * v)', '{0: 1, 1: 4, 2: 9}', 19],
    ['d == 7.0', 'true', 2],
    ['has({"a": i}.a)', 'true', 32],
  ];
  for (const [text, value, cost] of table) assert.deepEqual(run(text), [value, cost], text);
});

test('faults are told as cel-go tells them', () => {
  const table: [text: string, issues: string][] = [
    ['self.x', "ERROR: <input>:1:1: undeclared reference to 'self' (in container '')\n | self.x\n | ^"],
    ['(1', "ERROR: <input>:1:3: Syntax error: missing ')' at '<EOF>'\n | (1\n | ..^"],
    [
      '1 + "a"',
      "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n | 1 + \"a\"\n | ..^",
    ],
  ];
  for (const [text, issues] of table) assert.equal(String(compileExpression(text, environment)), issues);
});
