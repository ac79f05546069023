// One walk finds what comparing with nothing finds, for objects of any form.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { atOnce } from '../../base/turns.ts';
import type { Json, JsonObject, SchemaSource, TypeSchema } from '../declaration.ts';
import { createdFields } from './created-fields.ts';
import { encodeFieldSet, isEmptySet, recursiveDifference, setOfPaths } from './field-set.ts';
import { serverFields, withoutServerFields } from './managed-fields.ts';
import { compare, written } from './typed-compare.ts';
import { type TypedSchema, typedSchemaOf } from './typed-schema.ts';

const types = JSON.parse(
  readFileSync(new URL('../../api/schema/types.json', import.meta.url), 'utf8'),
) as Record<string, TypeSchema>;
const source: SchemaSource = { type: (name) => types[name] };
const resetFields = [['status'], ['metadata', 'finalizers'], ['spec', 'template', 'metadata']];

type Pick = (below: number) => number;

const oddValues: readonly Json[] = [
  null,
  '',
  0,
  false,
  [],
  {},
  'x',
  7,
  true,
  ['a', 'b', 'a'],
  { b: 1, a: { '': 2 } },
];

/** Mostly what the schema says, some of it empty, named twice, or of another form. */
function madeFor(schema: TypedSchema, pick: Pick, depth: number): Json {
  if (depth === 0 || pick(6) === 0) return oddValues[pick(oddValues.length)]!;
  switch (schema.kind) {
    case 'leaf':
      return pick(3) === 0 ? '' : `value ${pick(9)}`;
    case 'set':
      return Array.from({ length: pick(4) }, () => `member ${pick(3)}`);
    case 'list':
      return Array.from({ length: pick(4) }, () => madeFor(schema.items(), pick, depth - 1));
    case 'map':
      return Object.fromEntries(
        Array.from({ length: pick(4) }, () => [`key${pick(5)}`, madeFor(schema.values(), pick, depth - 1)]),
      );
    case 'deduced':
      return { some: oddValues[pick(oddValues.length)]! };
    case 'struct': {
      const object: JsonObject = pick(5) === 0 ? { unknown: oddValues[pick(oddValues.length)]! } : {};
      for (const [name, field] of schema.fields)
        if (name === 'metadata' || name === 'spec' || pick(3) === 0)
          object[name] = madeFor(field.schema(), pick, depth - 1);
      return object;
    }
  }
}

for (const type of [
  'core.v1.Pod',
  'apps.v1.Deployment',
  'core.v1.Service',
  'core.v1.ConfigMap',
  'none.v1.Such',
])
  test(`whoever creates a ${type} owns what comparing it with nothing tells`, () => {
    const schema = typedSchemaOf(source, `io.k8s.api.${type}`);
    fc.assert(
      fc.property(fc.array(fc.nat(1e6), { minLength: 400, maxLength: 400 }), (numbers) => {
        let at = 0;
        const object = madeFor(schema, (below) => numbers[at++ % numbers.length]! % below, 7);
        const found = recursiveDifference(
          written(compare(schema, undefined, object, true)),
          setOfPaths(resetFields),
        );
        const expected = withoutServerFields(found);
        const leftOut = { all: setOfPaths(resetFields), exact: serverFields };
        const encoded = atOnce(createdFields(schema, object, leftOut));
        assert.equal(
          JSON.stringify(encoded),
          isEmptySet(expected) ? undefined : JSON.stringify(encodeFieldSet(expected)),
        );
      }),
      { numRuns: 300 },
    );
  });
