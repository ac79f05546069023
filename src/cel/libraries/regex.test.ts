// Parts of texts that match a pattern, in linear time, at a cost that grows with huge repetitions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringType } from '../cel-type.ts';
import { assertCosts, assertValues, checkedExpression, evaluated } from '../testing/expressions.ts';
import { kubernetesEnvironment } from './kubernetes.ts';

test('find gives the first, findAll all or so many', () => {
  assertValues([
    ['"abc 123 de 45".find("[0-9]+") + "abc".find("z")', '123'],
    ['"1 22 333".findAll("[0-9]+")', '[1, 22, 333]'],
    ['"1 22 333".findAll("[0-9]+", 2)', '[1, 22]'],
    ['"abc".findAll("z").size() + "aaa".findAll("a", 0).size()', '0'],
    ['"x".find("(?i)X")', 'x'],
  ]);
  assertCosts([['"01234567890123456789".find("[0-9]+")', 6, 6]]);
});

test('a pattern that is none refuses the program, or fails the call', () => {
  assert.throws(() => checkedExpression('"a".find("(")').program(), /missing closing \)/);
  const environment = kubernetesEnvironment.extend({ variables: { p: stringType } });
  assertValues(
    [['"a".find(p)', 'Illegal regex: error parsing regexp: missing closing ): `(`']],
    { p: '(' },
    environment,
  );
});

test('a pattern that is larger than its text costs more, and a call that would last is not made', () => {
  const environment = kubernetesEnvironment.extend({ variables: { s: stringType } });
  const s = 'a'.repeat(10_000);
  const cost = (pattern: string, text: string): number =>
    evaluated(`s.matches("${pattern}")`, { s: text }, environment).cost;
  assert.equal(cost('^a{9}$', s), 1 + 1_001 * 2);
  assert.ok(cost('^(b?b?){1,300}$', s) > 30_000);
  assertValues(
    [['s.matches("^((a?b?c?){300}){3}$")', 'operation cancelled: actual cost limit exceeded']],
    { s: 'a'.repeat(100_000) },
    environment,
  );
});

test('a million parts of a text are not looked for', () => {
  const environment = kubernetesEnvironment.extend({ variables: { s: stringType } });
  const s = 'a'.repeat(1_000_000);
  const dear = 'operation cancelled: actual cost limit exceeded';
  assertValues(
    [
      ['s.findAll(".")', dear],
      ['s.findAll(".", 900000)', dear],
      ['s.findAll(".", 5).size()', '5'],
      ['s.substring(0, 100000).findAll(".").size()', '100000'],
    ],
    { s },
    environment,
  );
});
