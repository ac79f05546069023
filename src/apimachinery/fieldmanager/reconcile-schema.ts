// Sets that were written when the schema said something else: what has become one value since is owned as one.
import { type FieldSet, leaf, node } from './field-set.ts';
import { childOf, type TypedSchema } from './typed-schema.ts';

/** The very same set when there is nothing to change. What has become several values counts as if it always had been. */
export function reconciled(schema: TypedSchema, set: FieldSet): FieldSet {
  if (set.children === undefined || schema.kind === 'deduced') return set;
  if (schema.kind === 'leaf') return schema.scalar ? set : leaf;
  let children: Map<string, FieldSet> | undefined;
  for (const [element, child] of set.children) {
    const below = schemaBelow(schema, element);
    const next = below === undefined ? child : reconciled(below, child);
    if (next === child) continue;
    children ??= new Map(set.children);
    children.set(element, next);
  }
  return children === undefined ? set : node(set.self, children);
}

/** undefined: the schema knows nothing of it. */
function schemaBelow(schema: TypedSchema, element: string): TypedSchema | undefined {
  if (schema.kind === 'list') return element.startsWith('k:') ? schema.items() : undefined;
  if (schema.kind === 'set' || !element.startsWith('f:')) return undefined;
  const name = element.slice(2);
  if (schema.kind === 'struct' && !schema.fields.has(name)) return undefined;
  return childOf(schema, name);
}
