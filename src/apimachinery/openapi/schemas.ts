// Types of the schema as OpenAPI definitions, in the dialects of v2 and v3.
import type { FieldSchema, JsonObject, SchemaSource, TypeSchema } from '../declaration.ts';
import type { Describe } from './description-text.ts';

export type Dialect = 'v2' | 'v3';

const refPrefix: Readonly<Record<Dialect, string>> = { v2: '#/definitions/', v3: '#/components/schemas/' };
export const refTo = (type: string, dialect: Dialect): JsonObject => ({ $ref: refPrefix[dialect] + type });

const extensions = (field: FieldSchema): JsonObject => ({
  ...(field.listType ? { 'x-kubernetes-list-type': field.listType } : {}),
  ...(field.listMapKeys ? { 'x-kubernetes-list-map-keys': [...field.listMapKeys] } : {}),
  ...(field.mapType ? { 'x-kubernetes-map-type': field.mapType } : {}),
  ...(field.patchStrategy ? { 'x-kubernetes-patch-strategy': field.patchStrategy } : {}),
  ...(field.patchMergeKey ? { 'x-kubernetes-patch-merge-key': field.patchMergeKey } : {}),
});

function fieldSchema(field: FieldSchema, dialect: Dialect, description?: string): JsonObject {
  const more = { ...(description === undefined ? {} : { description }), ...extensions(field) };
  if (field.ref) {
    const ref = refTo(field.ref, dialect);
    if (dialect === 'v2') return { ...ref, ...more };
    // In v3 nothing may stand beside $ref.
    return field.default === undefined && Object.keys(more).length === 0
      ? ref
      : { allOf: [ref], ...(field.default === undefined ? {} : { default: field.default }), ...more };
  }
  return {
    ...(field.type ? { type: field.type } : {}),
    ...(field.format ? { format: field.format } : {}),
    ...(field.enum ? { enum: [...field.enum] } : {}),
    ...(field.items ? { items: fieldSchema(field.items, dialect) } : {}),
    ...(field.values ? { additionalProperties: fieldSchema(field.values, dialect) } : {}),
    ...(dialect === 'v3' && field.default !== undefined ? { default: field.default } : {}),
    ...more,
  };
}

function typeDefinition(name: string, type: TypeSchema, { dialect, describe }: Form): JsonObject {
  const properties: JsonObject = {};
  for (const [field, schema] of Object.entries(type.fields ?? {}))
    properties[field] = fieldSchema(schema, dialect, describe?.(name, field));
  const description = describe?.(name);
  const oneOf = dialect === 'v3' && type.oneOf ? { oneOf: type.oneOf.map((o) => ({ ...o })) } : {};
  return {
    ...(description === undefined ? {} : { description }),
    ...(type.type && Object.keys(oneOf).length === 0 ? { type: type.type } : {}),
    ...(type.format ? { format: type.format } : {}),
    ...oneOf,
    ...(type.fields ? { properties } : {}),
    ...(type.required ? { required: [...type.required] } : {}),
    ...(type.mapType ? { 'x-kubernetes-map-type': type.mapType } : {}),
    ...(type.gvk ? { 'x-kubernetes-group-version-kind': type.gvk.map((g) => ({ ...g })) } : {}),
  };
}

function refsOf(field: FieldSchema, found: string[]): void {
  if (field.ref) found.push(field.ref);
  if (field.items) refsOf(field.items, found);
  if (field.values) refsOf(field.values, found);
}

/** How definitions are written. */
export interface Form {
  readonly dialect: Dialect;
  readonly describe?: Describe | undefined;
  /** Definitions that are given whole: custom resources. */
  readonly definition?: ((type: string, dialect: Dialect) => JsonObject | undefined) | undefined;
}

/** The definitions of these types and of all that they refer to, sorted by name. */
export function definitionsOf(source: SchemaSource, roots: Iterable<string>, form: Form): JsonObject {
  const seen = new Map<string, JsonObject>();
  const queue = [...roots];
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (seen.has(name)) continue;
    const given = form.definition?.(name, form.dialect);
    const type = source.type(name);
    if (given) {
      seen.set(name, given);
      for (const [, ref] of JSON.stringify(given).matchAll(/"\$ref":"#\/(?:[a-z]+\/)+([^"/]+)"/g))
        queue.push(ref!);
    } else if (type) {
      seen.set(name, typeDefinition(name, type, form));
      for (const field of Object.values(type.fields ?? {})) refsOf(field, queue);
    }
  }
  return Object.fromEntries([...seen].sort(([a], [b]) => (a < b ? -1 : 1)));
}
