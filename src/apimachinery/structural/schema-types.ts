// A structural schema as types of the scheme: what server-side apply needs to know of lists and maps.
import type { FieldSchema, Json, TypeSchema } from '../json.ts';
import { isObject } from '../json-access.ts';
import {
  isEmbedded,
  isIntOrString,
  itemsOf,
  listKeysOf,
  listTypeOf,
  preserves,
  propertiesOf,
  propertyOf,
  type StructuralSchema,
  valuesOf,
} from './structural-schema.ts';

const objectMeta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const text: FieldSchema = { type: 'string' };
const ofEvery: Readonly<Record<string, FieldSchema>> = {
  apiVersion: text,
  kind: text,
  metadata: { ref: objectMeta },
};
const scalarTypes: readonly string[] = ['string', 'integer', 'number', 'boolean'];

/** Of a type's name, which kind it belongs to: those of the objects within are `<kind>#<path>`. */
export const kindOfType = (name: string): string => name.replace(/#.*|List$/, '');

/** The types of one version by full name: the kind itself, its list and the objects within. */
export function typesOf(root: string, schema: StructuralSchema): Map<string, TypeSchema> {
  const types = new Map<string, TypeSchema>();
  const structOf = (name: string, s: StructuralSchema): TypeSchema => {
    const fields: Record<string, FieldSchema> = Object.create(null);
    for (const key of Object.keys(propertiesOf(s)))
      fields[key] = fieldOf(`${name}${name.includes('#') ? '.' : '#'}${key}`, propertyOf(s, key) ?? {});
    if (isEmbedded(s)) Object.assign(fields, ofEvery);
    return { type: 'object', fields, ...mapType(s), ...(preserves(s) ? { open: true } : {}) };
  };
  const fieldOf = (name: string, s: StructuralSchema): FieldSchema => {
    const given = s['default'] === undefined ? {} : { default: s['default'] as Json };
    if (isIntOrString(s)) return { type: 'string', format: 'int-or-string', ...given };
    const type = s['type'];
    if (type === 'array')
      return { type: 'array', items: fieldOf(`${name}.items`, itemsOf(s) ?? {}), ...listType(s) };
    if (typeof type === 'string' && scalarTypes.includes(type))
      return { type: type as 'string' | 'integer' | 'number' | 'boolean', ...given };
    const values = valuesOf(s);
    if (Object.keys(propertiesOf(s)).length > 0) {
      types.set(name, structOf(name, s));
      return { ref: name, ...mapType(s) };
    }
    if (isObject(values as Json))
      return { type: 'object', values: fieldOf(`${name}.values`, values as StructuralSchema), ...mapType(s) };
    // No type at all: whatever it is, it is deduced from the value.
    return type === 'object' || values === true || preserves(s) ? { type: 'object', ...mapType(s) } : {};
  };
  const whole = structOf(root, schema);
  types.set(root, { ...whole, fields: { ...whole.fields, ...ofEvery } });
  types.set(`${root}List`, {
    type: 'object',
    fields: {
      apiVersion: text,
      items: { type: 'array', items: { ref: root } },
      kind: text,
      metadata: { ref: 'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta' },
    },
    required: ['items'],
  });
  return types;
}

const mapType = (s: StructuralSchema): { mapType?: 'atomic' | 'granular' } =>
  s['x-kubernetes-map-type'] === 'atomic' ? { mapType: 'atomic' } : {};

function listType(s: StructuralSchema): Partial<FieldSchema> {
  const type = listTypeOf(s);
  if (type === 'set' || type === 'atomic') return { listType: type };
  return type === 'map' ? { listType: 'map', listMapKeys: listKeysOf(s) } : {};
}
