// The types of the API by full name, read once from the data.
import type { GroupVersionKind, SchemaSource, TypeSchema } from '../apimachinery/declaration.ts';
import data from './schema/types.json' with { type: 'json' };

const types = new Map<string, TypeSchema>(Object.entries(data as unknown as Record<string, TypeSchema>));

export const schemaSource: SchemaSource = { type: (fullName) => types.get(fullName) };
export const typeNames: readonly string[] = [...types.keys()];

const key = (gvk: GroupVersionKind): string => `${gvk.group}/${gvk.version}/${gvk.kind}`;
const byKind = new Map<string, string>();
for (const [name, type] of types) for (const gvk of type.gvk ?? []) byKind.set(key(gvk), name);
// Options of pod connections have no group of their own in the data.
const metaTypes = 'io.k8s.apimachinery.pkg.apis.meta.v1.';

/** Full type name of a kind, in whatever group it is named (DeleteOptions is in all of them). */
export function typeOfKind(gvk: GroupVersionKind): string | undefined {
  const found = byKind.get(key(gvk));
  if (found) return found;
  return types.has(metaTypes + gvk.kind) && /Options$|^Status$|^WatchEvent$/.test(gvk.kind)
    ? metaTypes + gvk.kind
    : undefined;
}
