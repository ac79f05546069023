// What strategic merge patch must know of a field: does it merge, by which key, and what lies below.
import type { FieldSchema, SchemaSource, TypeSchema } from '../declaration.ts';

export interface PatchSchema {
  readonly source: SchemaSource;
  readonly type: TypeSchema | undefined;
  /** For messages. */
  readonly name: string;
}

export interface PatchMeta {
  readonly strategy: 'merge' | 'replace' | '';
  readonly mergeKey: string;
  readonly schema: PatchSchema;
}

export const patchSchemaOf = (source: SchemaSource, type: string): PatchSchema => ({
  source,
  type: source.type(type),
  name: type.slice(type.lastIndexOf('.') + 1),
});

/** A field that the type does not know is taken as it comes: maps merge, lists are replaced. */
export function patchMetaOf(schema: PatchSchema, key: string): PatchMeta {
  const fields = schema.type?.fields;
  const field = fields !== undefined && Object.hasOwn(fields, key) ? fields[key] : undefined;
  const strategies = field?.patchStrategy?.split(',') ?? [];
  return {
    strategy: strategies.includes('merge') ? 'merge' : strategies.includes('replace') ? 'replace' : '',
    mergeKey: field?.patchMergeKey ?? '',
    schema: below(schema.source, field),
  };
}

function below(source: SchemaSource, field: FieldSchema | undefined): PatchSchema {
  const ref = field?.ref ?? field?.items?.ref ?? field?.values?.ref;
  return ref === undefined ? { source, type: undefined, name: '' } : patchSchemaOf(source, ref);
}
