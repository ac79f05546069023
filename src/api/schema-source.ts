// The types of the API by full name, read once from the data.
import type { GroupVersionKind, SchemaSource, TypeSchema } from '../apimachinery/declaration.ts';
import data from './schema/types.json' with { type: 'json' };

const types = new Map<string, TypeSchema>(Object.entries(data as unknown as Record<string, TypeSchema>));

// Objects of which only the metadata is asked for; the published data leaves them out.
const metaTypes = 'io.k8s.apimachinery.pkg.apis.meta.v1.';
const partial = 'PartialObjectMetadata';
const objectMeta = { ref: `${metaTypes}ObjectMeta`, proto: [1, 'ObjectMeta', 'optional'] } as const;
const listMeta = { ref: `${metaTypes}ListMeta`, proto: [1, 'ListMeta', 'optional'] } as const;
const items = {
  type: 'array',
  items: { ref: metaTypes + partial },
  proto: [2, partial, 'repeated'],
} as const;
const text = { type: 'string' } as const;
types.set(metaTypes + partial, {
  type: 'object',
  fields: { apiVersion: text, kind: text, metadata: objectMeta },
  gvk: [{ group: 'meta.k8s.io', version: 'v1', kind: partial }],
});
types.set(`${metaTypes}${partial}List`, {
  type: 'object',
  fields: { apiVersion: text, kind: text, metadata: listMeta, items },
  gvk: [{ group: 'meta.k8s.io', version: 'v1', kind: `${partial}List` }],
});

export const schemaSource: SchemaSource = { type: (fullName) => types.get(fullName) };
const key = (gvk: GroupVersionKind): string => `${gvk.group}/${gvk.version}/${gvk.kind}`;
const byKind = new Map<string, string>();
for (const [name, type] of types) for (const gvk of type.gvk ?? []) byKind.set(key(gvk), name);

/** Full type name of a kind, in whatever group it is named (DeleteOptions is in all of them). */
export function typeOfKind(gvk: GroupVersionKind): string | undefined {
  const found = byKind.get(key(gvk));
  if (found) return found;
  return types.has(metaTypes + gvk.kind) && /Options$|^Status$|^WatchEvent$/.test(gvk.kind)
    ? metaTypes + gvk.kind
    : undefined;
}
