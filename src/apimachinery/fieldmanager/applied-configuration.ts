// Lays an apply configuration over an object without a manager: what mutating admission policies do. Nobody owns what it adds.
import type { Json, JsonObject, SchemaSource } from '../declaration.ts';
import { isJsonObject } from '../patch/own-property.ts';
import { TypedError } from './path-element.ts';
import { merge } from './typed-merge.ts';
import { deduced, type TypedSchema, typedSchemaOf } from './typed-schema.ts';
import { fieldSetOf } from './typed-set.ts';

/** Paths of lists, maps and structs that are one value each: who sets a part of one would take away the rest. */
function atomicPaths(schema: TypedSchema, value: Json | undefined, path: string): string[] {
  const isContainer = Array.isArray(value) || isJsonObject(value);
  if (!isContainer) return [];
  if (schema.kind === 'leaf') return schema.scalar ? [] : [path];
  if (Array.isArray(value)) {
    if (schema.kind === 'deduced') return [path];
    const items = schema.kind === 'list' ? schema.items() : deduced;
    return schema.kind === 'list' ? value.flatMap((one, i) => atomicPaths(items, one, `${path}[${i}]`)) : [];
  }
  return Object.entries(value).flatMap(([key, member]) => {
    const below =
      schema.kind === 'struct'
        ? schema.fields.get(key)?.schema()
        : schema.kind === 'map'
          ? schema.values()
          : deduced;
    return below === undefined ? [] : atomicPaths(below, member, `${path}.${key}`);
  });
}

/** Neither is changed. A text in upstream's words when that can't be. */
export function mergedConfiguration(
  source: SchemaSource,
  type: string,
  object: JsonObject,
  configuration: JsonObject,
): JsonObject | string {
  const schema = typedSchemaOf(source, type);
  try {
    fieldSetOf(schema, configuration);
  } catch (error) {
    if (!(error instanceof TypedError)) throw error;
    return `failed to convert patch object to typed object: ${error.message}`;
  }
  const atomics = atomicPaths(schema, configuration, '');
  if (atomics.length > 0)
    return `invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(', ')}`;
  return merge(schema, object, configuration) as JsonObject;
}
