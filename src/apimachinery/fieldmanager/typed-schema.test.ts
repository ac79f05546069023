// What is known of types lasts as long as the types do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SchemaSource } from '../declaration.ts';
import { typedSchemaOf } from './typed-schema.ts';

test('types of definitions that were deleted are forgotten, those that are there are kept', () => {
  const types = new Map<string, object>();
  const asked = new Map<string, number>();
  const source = {
    type(name: string) {
      asked.set(name, (asked.get(name) ?? 0) + 1);
      return types.get(name);
    },
  } as unknown as SchemaSource;
  const define = (name: string): void => void types.set(name, { type: 'object', fields: {} });
  define('stays');
  const kept = typedSchemaOf(source, 'stays');
  for (let i = 0; i < 50_000; i++) {
    define(`kind${i}`);
    assert.equal(typedSchemaOf(source, `kind${i}`).kind, 'struct');
    types.delete(`kind${i}`);
  }
  assert.equal(typedSchemaOf(source, 'stays'), kept);
  assert.equal(typedSchemaOf(source, 'kind0').kind, 'deduced');
  // To make it, to build it, and in the one sweep that takes it away.
  assert.equal(asked.get('kind1'), 3);
  assert.equal(asked.get('kind40000'), 3);
});
