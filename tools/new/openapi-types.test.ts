// Kinds that come back from the document that the server publishes are the kinds that it was made of.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaSource } from '../../src/api/schema-source.ts';
import { createScheme } from '../../src/api/scheme.ts';
import type { FieldSchema, JsonObject, TypeSchema } from '../../src/apimachinery/json.ts';
import { definitionsOf } from '../../src/apimachinery/openapi/schemas.ts';
import { kindOfDocument } from './openapi-types.ts';

const scheme = createScheme();
const meta = (type: string): boolean => type.startsWith('io.k8s.apimachinery.');

/** What a document of this dialect says of a type: numbers of protobuf, Go's zeros and nulls are never in one, defaults are in v3 only. */
function published(type: TypeSchema | undefined, dialect: 'v2' | 'v3'): unknown {
  const bare = (
    { proto: _, omitsZero: __, servesNull: ___, default: value, ...field }: FieldSchema,
    isMeta: boolean,
  ): FieldSchema => ({
    ...field,
    ...(value === undefined || (dialect === 'v2' && !isMeta) ? {} : { default: value }),
    ...(field.items ? { items: bare(field.items, false) } : {}),
    ...(field.values ? { values: bare(field.values, false) } : {}),
  });
  const { protoMessage: _, unions: __, ...rest } = type!;
  const fields = Object.entries(type?.fields ?? {}).map(([name, field]) => [
    name,
    bare(field, type?.gvk !== undefined && name === 'metadata'),
  ]);
  return { ...rest, ...(type?.fields === undefined ? {} : { fields: Object.fromEntries(fields) }) };
}

for (const dialect of ['v2', 'v3'] as const)
  test(`every kind comes back whole from OpenAPI ${dialect}`, () => {
    const roots = scheme.resources().map(({ type }) => type);
    const definitions = definitionsOf(schemaSource, roots, { dialect });
    const document: JsonObject =
      dialect === 'v2' ? { definitions } : { components: { schemas: definitions } };
    let count = 0;
    for (const { group, version, kind, type } of scheme.resources()) {
      if (meta(type)) continue;
      const { types, gvk } = kindOfDocument(document, { group, version, kind }, meta);
      assert.deepEqual(gvk, { group, version, kind });
      for (const [name, imported] of types) {
        if (name === `${type}List`) continue;
        assert.deepEqual(imported, published(schemaSource.type(name), dialect), name);
        count++;
      }
    }
    assert.ok(count > 500, `${count} types were compared`);
  });

const widget: JsonObject = {
  type: 'object',
  required: ['spec'],
  properties: {
    apiVersion: { type: 'string', description: 'd' },
    kind: { type: 'string' },
    metadata: { type: 'object' },
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: { type: 'integer', format: 'int32', minimum: 1, description: 'How large.' },
        port: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
        parts: {
          type: 'array',
          items: { type: 'object', properties: { name: { type: 'string', pattern: 'a+' } } },
        },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
      },
    },
  },
  'x-kubernetes-group-version-kind': [{ group: 'example.com', version: 'v1', kind: 'Widget' }],
};
const document: JsonObject = { components: { schemas: { 'com.example.v1.Widget': widget } } };

test('objects written out in their place get names; descriptions, and rules that types do not hold, are told', () => {
  const { types, descriptions, rules } = kindOfDocument(document, { kind: 'Widget' }, meta);
  assert.deepEqual(Object.fromEntries(descriptions), {
    'com.example.v1.Widget.apiVersion': 'd',
    'com.example.v1.WidgetSpec.size': 'How large.',
  });
  assert.deepEqual(Object.fromEntries(types), {
    'com.example.v1.Widget': {
      type: 'object',
      fields: {
        apiVersion: { type: 'string' },
        kind: { type: 'string' },
        metadata: { default: {}, ref: 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' },
        spec: { ref: 'com.example.v1.WidgetSpec' },
      },
      required: ['spec'],
      gvk: [{ group: 'example.com', version: 'v1', kind: 'Widget' }],
    },
    'com.example.v1.WidgetSpec': {
      type: 'object',
      fields: {
        labels: { type: 'object', values: { type: 'string' } },
        parts: { type: 'array', items: { ref: 'com.example.v1.WidgetSpecPartsItem' } },
        port: { ref: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString' },
        size: { type: 'integer', format: 'int32' },
      },
      required: ['size'],
    },
    'com.example.v1.WidgetSpecPartsItem': { type: 'object', fields: { name: { type: 'string' } } },
    'com.example.v1.WidgetList': {
      type: 'object',
      fields: {
        apiVersion: { type: 'string' },
        items: { items: { ref: 'com.example.v1.Widget' }, type: 'array' },
        kind: { type: 'string' },
        metadata: { default: {}, ref: 'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta' },
      },
      required: ['items'],
      gvk: [{ group: 'example.com', version: 'v1', kind: 'WidgetList' }],
    },
  });
  assert.deepEqual(rules, ['spec.parts[].name: pattern', 'spec.size: minimum']);
});

test('a kind that is not there, or is there twice, is an error that says so', () => {
  assert.throws(() => kindOfDocument(document, { kind: 'Gadget' }, meta), /has no kind Gadget/);
  const twice = {
    definitions: {
      a: widget,
      b: {
        ...widget,
        'x-kubernetes-group-version-kind': [{ group: 'example.com', version: 'v2', kind: 'Widget' }],
      },
    },
  };
  assert.throws(() => kindOfDocument(twice, { kind: 'Widget' }, meta), /example.com\/v1 and example.com\/v2/);
  assert.equal(kindOfDocument(twice, { kind: 'Widget', version: 'v2' }, meta).gvk.version, 'v2');
});
