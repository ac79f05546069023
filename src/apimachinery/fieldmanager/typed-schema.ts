// The schema as ownership sees it: what is one value, what merges, and what identifies a list's elements.
import { once } from '../../base/once.ts';
import type { FieldSchema, Json, SchemaSource } from '../declaration.ts';

export type TypedSchema =
  /** One value: a scalar, or an atomic map or list. `empty` is what a required field holds in Go's zero object. */
  | { readonly kind: 'leaf'; readonly scalar: boolean; readonly type?: ScalarType }
  /** Named fields, each with a schema of its own. */
  | {
      readonly kind: 'struct';
      readonly name: string;
      readonly fields: ReadonlyMap<string, TypedField>;
      /** Other fields are deduced. */
      readonly open: boolean;
    }
  /** A map whose keys are data. */
  | { readonly kind: 'map'; readonly values: () => TypedSchema }
  | { readonly kind: 'set' }
  | { readonly kind: 'list'; readonly keys: readonly ListKey[]; readonly items: () => TypedSchema }
  /** No schema: objects merge, lists do not. */
  | { readonly kind: 'deduced' };

/** What a scalar must be; one that may be several things (a quantity, a time, an int or a string) says nothing. */
export type ScalarType = 'string' | 'numeric' | 'boolean';

export interface TypedField {
  /** As in a path: `f:spec`. */
  readonly element: string;
  readonly schema: () => TypedSchema;
  /** Go's zero object has it: a struct by value is `{}` there, a required field is null or zero. */
  readonly inZeroObject: 'no' | 'struct' | 'zero';
}

export interface ListKey {
  readonly name: string;
  readonly default: Json | undefined;
}

const scalar: TypedSchema = { kind: 'leaf', scalar: true };
const stringLeaf: TypedSchema = { kind: 'leaf', scalar: true, type: 'string' };
const numericLeaf: TypedSchema = { kind: 'leaf', scalar: true, type: 'numeric' };
const booleanLeaf: TypedSchema = { kind: 'leaf', scalar: true, type: 'boolean' };
const atomic: TypedSchema = { kind: 'leaf', scalar: false };
const set: TypedSchema = { kind: 'set' };
export const deduced: TypedSchema = { kind: 'deduced' };

/** Of a field of the object, named by the schema or not. */
export function childOf(schema: TypedSchema, key: string): TypedSchema {
  if (schema.kind === 'struct') return schema.fields.get(key)?.schema() ?? deduced;
  return schema.kind === 'map' ? schema.values() : deduced;
}

interface CachedSchema {
  readonly type: unknown;
  readonly schema: TypedSchema;
}
interface SchemaCache {
  readonly known: Map<string, CachedSchema>;
  /** So many are known when those that are no more are looked for. */
  sweepAt: number;
}
const caches = new WeakMap<SchemaSource, SchemaCache>();
/** More than the built-in types are. */
const firstSweep = 2_048;

/** Made once for each type; made anew when the source has another definition (a CRD that changed). */
export function typedSchemaOf(source: SchemaSource, name: string): TypedSchema {
  const type = source.type(name);
  if (type === undefined) return deduced;
  const cache = caches.get(source) ?? { known: new Map<string, CachedSchema>(), sweepAt: firstSweep };
  caches.set(source, cache);
  const cached = cache.known.get(name);
  if (cached !== undefined && cached.type === type) return cached.schema;
  if (cache.known.size >= cache.sweepAt) sweep(source, cache);
  const schema = build(source, name);
  cache.known.set(name, { type, schema });
  return schema;
}

/** Types of definitions that were deleted are asked for by nobody. */
function sweep(source: SchemaSource, cache: SchemaCache): void {
  const { known } = cache;
  for (const [name, { type }] of known) if (source.type(name) !== type) known.delete(name);
  cache.sweepAt = Math.max(firstSweep, 2 * known.size);
}

function build(source: SchemaSource, name: string): TypedSchema {
  const type = source.type(name);
  if (type === undefined) return deduced;
  if (type.mapType === 'atomic') return atomic;
  if (type.fields === undefined) return type.type === 'object' || type.type === undefined ? atomic : scalar;
  const fields = new Map<string, TypedField>();
  for (const [key, field] of Object.entries(type.fields))
    fields.set(key, {
      element: `f:${key}`,
      schema: once(() => fieldSchema(source, field)),
      inZeroObject: isEmptyObject(field.default) ? 'struct' : type.required?.includes(key) ? 'zero' : 'no',
    });
  return { kind: 'struct', name, fields, open: type.open === true };
}

function fieldSchema(source: SchemaSource, field: FieldSchema): TypedSchema {
  if (field.ref !== undefined) return field.mapType === 'atomic' ? atomic : typedSchemaOf(source, field.ref);
  if (field.type === 'array') return listSchema(source, field);
  if (field.values !== undefined) {
    const values = field.values;
    return field.mapType === 'atomic'
      ? atomic
      : { kind: 'map', values: once(() => fieldSchema(source, values)) };
  }
  if (field.type === 'object') return field.mapType === 'atomic' ? atomic : deduced;
  return field.type === undefined ? deduced : scalarOf(field);
}

function scalarOf({ type, format }: FieldSchema): TypedSchema {
  switch (type) {
    case 'string':
      return format === 'int-or-string' ? scalar : stringLeaf;
    case 'integer':
    case 'number':
      return numericLeaf;
    case 'boolean':
      return booleanLeaf;
    default:
      return scalar;
  }
}

function listSchema(source: SchemaSource, field: FieldSchema): TypedSchema {
  if (field.listType === 'set') return set;
  const items = field.items;
  if (field.listType !== 'map' || items === undefined) return atomic;
  const itemFields = items.ref === undefined ? undefined : source.type(items.ref)?.fields;
  const keys = [...(field.listMapKeys ?? [])].sort();
  return {
    kind: 'list',
    keys: keys.map((name) => ({ name, default: itemFields?.[name]?.default })),
    items: once(() => fieldSchema(source, items)),
  };
}

const isEmptyObject = (value: Json | undefined): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
