// A definition without its schemas is the definition, whatever texts and names it has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { definitionOutline } from './definition-outline.ts';

const hostile = ['"openAPIV3Schema":{', '\\', '\\"', '{"', '}}', '"', 'é😀', '\\\\"openAPIV3Schema":{'];

function definition(schemas: readonly unknown[]): JsonObject {
  const texts = Object.fromEntries(hostile.map((text, i) => [`example.com/${i}${text}`, text]));
  return {
    kind: 'CustomResourceDefinition',
    apiVersion: 'apiextensions.k8s.io/v1',
    metadata: { name: 'things.example.com', generation: 3, annotations: { openAPIV3Schema: '{', ...texts } },
    spec: {
      versions: schemas.map((openAPIV3Schema, i) => ({
        name: `v${i}`,
        schema: { openAPIV3Schema },
        served: true,
      })),
      conversion: { strategy: 'None' },
    },
    status: { storedVersions: hostile },
  } as JsonObject;
}

test('all of a definition is there but its schemas', () => {
  const schema = {
    type: 'object',
    description: hostile.join(''),
    default: { at: 12_345_678_901_234_567n, texts: hostile, nested: [{ openAPIV3Schema: { a: '}' } }] },
    properties: Object.fromEntries(hostile.map((name) => [name, { description: name, enum: hostile }])),
  };
  for (const schemas of [[], [schema], [schema, {}, schema], [{ properties: { openAPIV3Schema: schema } }]]) {
    const outline = definitionOutline(Buffer.from(JSON.stringify(definition(schemas))));
    assert.deepEqual(outline, definition(schemas.map(() => ({}))));
  }
});

test('what is no schema stays', () => {
  for (const schema of [null, true, 'text', 1, []])
    assert.deepEqual(
      definitionOutline(Buffer.from(JSON.stringify(definition([schema])))),
      definition([schema]),
    );
});

test('many megabytes of braces and quotes are read in a moment, and what is no JSON is none', () => {
  const text = '\\"'.repeat(500_000) + '{'.repeat(500_000);
  const large = JSON.stringify(
    definition([{ description: text, enum: Array.from({ length: 100_000 }, () => '"') }]),
  );
  const from = process.cpuUsage();
  assert.deepEqual(definitionOutline(Buffer.from(large)), definition([{}]));
  const { user, system } = process.cpuUsage(from);
  assert.ok(user + system < 2_000_000, `${user + system} µs`);
  assert.throws(() => definitionOutline(Buffer.from(large.slice(0, -3))), SyntaxError);
  assert.throws(() => definitionOutline(Buffer.from('{"a":{"openAPIV3Schema":{"b":"')), SyntaxError);
});
