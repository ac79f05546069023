// CustomResourceDefinitions as large as those of well-known projects.
import type { JsonObject } from '../../src/apimachinery/declaration.ts';

const fields = (count: number, of: object): object =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`field${i}`, of]));

/** Some 60 KB with 20 rules, of which an object meets most. */
export function ruledDefinition({
  rules = true,
  name = 'ruled',
}: {
  readonly rules?: boolean;
  readonly name?: string;
} = {}): JsonObject {
  const text = { type: 'string', maxLength: 253, description: 'What this field is for, in many words.' };
  const kept = (rule: string, message: string): object =>
    rules ? { 'x-kubernetes-validations': [{ rule, message }] } : {};
  const part = {
    type: 'object',
    properties: { ...fields(12, text), size: { type: 'integer' } },
    ...kept(
      'has(self.field0) == has(self.field1) && (!has(self.size) || self.size < 100)',
      'fields come together',
    ),
  };
  const list = {
    type: 'array',
    maxItems: 16,
    items: part,
    ...kept('self.all(a, self.exists_one(b, a.field0 == b.field0))', 'each has another name'),
  };
  const spec = { type: 'object', properties: { ...fields(18, part), list } };
  const status = { type: 'object', properties: fields(20, { type: 'object', properties: fields(20, text) }) };
  return {
    metadata: { name: `${name}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: name, kind: name[0]!.toUpperCase() + name.slice(1) },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec, status } } },
          subresources: { status: {} },
        },
      ],
    },
  } as JsonObject;
}

/** What such an object says: 1.7 KB. */
export function ruledSpec(): JsonObject {
  const part = { field0: 'a', field1: 'b', field2: 'some value', size: 7 };
  return {
    ...Object.fromEntries(Array.from({ length: 14 }, (_, i) => [`field${i}`, part])),
    list: Array.from({ length: 4 }, (_, i) => ({ ...part, field0: `name-${i}` })),
  };
}
