// Whatever text and whatever objects come: a value, a CelError or issues, in bounded time; never an exception.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Json } from '../apimachinery/json.ts';
import { dynType, stringType } from './cel-type.ts';
import { CheckedExpression, compileExpression } from './compile.ts';
import { Environment, languageLibraries } from './environment.ts';
import { jsonValue, schemaValue } from './json-values.ts';
import { bindings } from './libraries/bindings.ts';
import { PlanError } from './plan.ts';
import { schemaType } from './schema-type.ts';
import { Issues } from './source.ts';
import { formatValue } from './value-text.ts';

const environment = new Environment({
  libraries: [...languageLibraries, bindings],
  variables: { self: dynType, s: stringType },
  validated: true,
});

function survives(text: string, self: Json): void {
  const compiled = compileExpression(text, environment);
  if (compiled instanceof Issues) {
    assert.match(String(compiled), /^ERROR: <input>:/);
    return;
  }
  try {
    const { min, max } = compiled.estimate();
    assert.ok(min >= 0 && max >= 0);
    const { value, cost } = compiled.program().run({ self: jsonValue(self), s: text }, { cost: 100_000 });
    assert.equal(typeof formatValue(value), 'string');
    assert.ok(cost >= 0);
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
  }
}

const words =
  'self s x y 1 2u 0.5 "a" b"b" true null [ ] { } ( ) . , ? : + - * / % ! < <= == != in && || .? [? has all exists map filter size type dyn int string duration timestamp matches optional.of orValue cel.bind transformMap __proto__ constructor prototype'.split(
    ' ',
  );
const pick = (...all: fc.Arbitrary<string>[]): fc.Arbitrary<string> => fc.oneof(...all);
/** Expressions that are mostly well formed. */
const expression = fc.letrec<{ e: string }>((tie) => ({
  e: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(
      'self',
      's',
      'x',
      '1',
      '0',
      '-1',
      '2u',
      '1.5',
      '"a"',
      "b'x'",
      'true',
      'null',
      '[]',
      '{}',
      'duration("1s")',
    ),
    fc
      .tuple(tie('e'), fc.constantFrom('+', '-', '*', '/', '%', '<', '==', '!=', 'in', '&&', '||'), tie('e'))
      .map(([a, op, b]) => `(${a} ${op} ${b})`),
    fc
      .tuple(tie('e'), fc.constantFrom('a', '__proto__', 'constructor', 'b'))
      .map(([a, field]) => `${a}.${field}`),
    fc.tuple(tie('e'), tie('e')).map(([a, b]) => `${a}[${b}]`),
    fc
      .tuple(tie('e'), fc.constantFrom('all', 'exists', 'map', 'filter', 'exists_one'), tie('e'))
      .map(([a, macro, b]) => `${a}.${macro}(x, ${b})`),
    fc.tuple(tie('e'), tie('e'), tie('e')).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    fc
      .tuple(
        fc.constantFrom('size', 'string', 'int', 'type', 'dyn', 'double', 'bytes', 'optional.of'),
        tie('e'),
      )
      .map(([f, a]) => `${f}(dyn(${a}))`),
    fc.tuple(tie('e'), fc.constantFrom('a', 'b')).map(([a, field]) => `has(dyn(${a}).${field})`),
    fc.tuple(tie('e'), tie('e')).map(([a, b]) => `{"k": ${a}, ?"l": dyn(${b}).?z}`),
    fc.tuple(tie('e'), tie('e')).map(([a, b]) => `cel.bind(x, ${a}, ${b})`),
  ),
}));
const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>;

test('any text: no exception but a fault of CEL', () => {
  const text = pick(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.array(fc.constantFrom(...words), { maxLength: 25 }).map((list) => list.join(' ')),
    fc
      .array(fc.constantFrom(...words, "'", '"""', '`', '\\', '\n', 'é'), { maxLength: 25 })
      .map((list) => list.join('')),
  );
  fc.assert(
    fc.property(text, json, (given, self) => survives(given, self)),
    { numRuns: 400 },
  );
});

test('any expression over any object: a value or an error', () => {
  fc.assert(
    fc.property(expression.e, json, (given, self) => survives(given, self)),
    { numRuns: 400 },
  );
});

test('any object under a schema that it does not fit: errors are values', () => {
  const schema = schemaType(
    {
      type: 'object',
      properties: {
        a: { type: 'integer' },
        b: { type: 'array', items: { type: 'string', format: 'date-time' } },
        c: { type: 'object', additionalProperties: { 'x-kubernetes-int-or-string': true } },
        d: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'number' } },
      },
    },
    'selfType',
  );
  const given = fc.record({ a: json, b: json, c: json, d: json }, { requiredKeys: [] }) as fc.Arbitrary<Json>;
  const compiled = compileExpression(
    'self == self && self.a > 1 && self.b.all(x, x > x) && self.c.all(k, self.c[k] == 1) || self.d + self.d == self.d',
    environment,
  );
  assert.ok(compiled instanceof CheckedExpression);
  const program = compiled.program();
  fc.assert(
    fc.property(given, (self) => {
      const { value } = program.run({ self: schemaValue(self, schema) });
      assert.equal(typeof formatValue(value), 'string');
    }),
    { numRuns: 200 },
  );
});
