// What messages show of versions and schemas has every field that Go has, under Go's names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../apimachinery/json.ts';
import { shownItems, shownSchema, shownVersions } from './internal-form.ts';

/** What is neither empty, nor false, nor null, at any depth. */
function said(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(said);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== null && one !== '' && one !== false)
      .map(([key, one]) => [key, said(one)]),
  );
}

test('a schema is shown with all fields that there are, whatever it says', () => {
  const shown = shownSchema({ type: 'object' }) as JsonObject;
  assert.equal(Object.keys(shown).length, 44);
  assert.deepEqual(Object.keys(shown).slice(0, 5), ['ID', 'Schema', 'Ref', 'Description', 'Type']);
  assert.deepEqual(said(shown), { Type: 'object' });
});

test('schemas within are shown alike: of lists, maps, choices, dependencies', () => {
  const schema = {
    properties: { b: { maxLength: 3 }, a: { 'x-kubernetes-int-or-string': true } },
    additionalProperties: { nullable: true },
    items: { enum: ['x'] },
    anyOf: [{ minimum: 1 }],
    dependencies: { c: ['d'] },
    externalDocs: { url: 'u' },
    'x-kubernetes-validations': [{ rule: 'true', fieldPath: '.a' }],
  };
  assert.deepEqual(said(shownSchema(schema)), {
    Properties: { a: { XIntOrString: true }, b: { MaxLength: 3 } },
    AdditionalProperties: { Allows: true, Schema: { Nullable: true } },
    Items: { Schema: { Enum: ['x'] } },
    AnyOf: [{ Minimum: 1 }],
    Dependencies: { c: { Property: ['d'] } },
    ExternalDocs: { URL: 'u' },
    XValidations: [{ Rule: 'true', FieldPath: '.a' }],
  });
  assert.deepEqual(said(shownItems([{ type: 'string' }])), { JSONSchemas: [{ Type: 'string' }] });
  assert.deepEqual(shownSchema({ additionalItems: false })?.['AdditionalItems' as never], {
    Allows: false,
    Schema: null,
  });
});

test('a version is shown with its parts, and none as nothing', () => {
  assert.equal(shownVersions(undefined), null);
  const versions = shownVersions([
    {
      name: 'v1',
      served: true,
      schema: { openAPIV3Schema: { type: 'object' } },
      subresources: { status: {}, scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
      additionalPrinterColumns: [{ name: 'N', type: 'integer', jsonPath: '.spec.n' }],
      selectableFields: [{ jsonPath: '.spec.n' }],
    },
  ]);
  assert.deepEqual(said(versions), [
    {
      Name: 'v1',
      Served: true,
      Schema: { OpenAPIV3Schema: { Type: 'object' } },
      Subresources: { Status: {}, Scale: { SpecReplicasPath: '.spec.n', StatusReplicasPath: '.status.n' } },
      AdditionalPrinterColumns: [{ Name: 'N', Type: 'integer', Priority: 0, JSONPath: '.spec.n' }],
      SelectableFields: [{ JSONPath: '.spec.n' }],
    },
  ]);
});
