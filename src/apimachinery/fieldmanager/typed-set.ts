// The fields that an applied object names: upstream's ToFieldSet.
import type { Json } from '../declaration.ts';
import { goSyntax, goTypeOf, goValue } from '../go-format.ts';
import { isJsonObject } from '../patch/own-property.ts';
import type { FieldSet } from './field-set.ts';
import { emptySet, isEmptySet, leaf, node, pathElementText } from './field-set.ts';
import { isEmptyContainer, keyElement, scalarElement, TypedError } from './path-element.ts';
import type { ScalarType, TypedSchema } from './typed-schema.ts';
import { deduced } from './typed-schema.ts';

/** Checks the object against its schema on the way: unknown fields and double list elements throw TypedError. */
export function fieldSetOf(schema: TypedSchema, value: Json | undefined, path = ''): FieldSet {
  if (value === undefined) return leaf;
  if (schema.kind === 'leaf') {
    if (schema.type !== undefined) assertScalar(schema.type, value, path);
    return leaf;
  }
  // A list of elements that has none says nothing: whoever wants them gone has to have owned them.
  if (isEmptyContainer(value)) return isList(schema) && Array.isArray(value) ? emptySet : leaf;
  switch (schema.kind) {
    case 'struct':
    case 'map':
    case 'deduced': {
      if (!isJsonObject(value)) {
        if (schema.kind === 'deduced') return leaf;
        throw new TypedError(`${path}: expected map, got &{${goValue(value)}}`);
      }
      const children = new Map<string, FieldSet>();
      for (const key of Object.keys(value)) {
        const member = value[key];
        if (member === undefined) continue;
        const field = schema.kind === 'struct' ? schema.fields.get(key) : undefined;
        if (schema.kind === 'struct' && !schema.open && field === undefined)
          throw new TypedError(`${path}.${key}: field not declared in schema`);
        const child = field?.schema() ?? (schema.kind === 'map' ? schema.values() : deduced);
        const below = fieldSetOf(child, member, `${path}.${key}`);
        if (field === undefined) children.set(`f:${key}`, node(true, below.children));
        else if (!isEmptySet(below)) children.set(`f:${key}`, below);
      }
      return node(false, children);
    }
    case 'set':
    case 'list': {
      if (!Array.isArray(value)) throw new TypedError(`${path}: expected list, got &{${goValue(value)}}`);
      const children = new Map<string, FieldSet>();
      value.forEach((item, index) => {
        const name =
          schema.kind === 'set'
            ? scalarElement(item, path, index)
            : keyElement(item, schema.keys, path, index);
        const text = pathElementText(name);
        if (children.has(name)) throw new TypedError(`${path}: duplicate entries for key ${text}`);
        const below = schema.kind === 'set' ? leaf : fieldSetOf(schema.items(), item, path + text);
        children.set(name, node(true, below.children));
      });
      return node(false, children);
    }
  }
}

const isList = ({ kind }: TypedSchema): boolean => kind === 'set' || kind === 'list';

const isNumeric = (value: Json): boolean => typeof value === 'number' || typeof value === 'bigint';

/** Upstream's validateScalar, whose words show the value in Go's three ways. */
function assertScalar(type: ScalarType, value: Json, path: string): void {
  if (value === null) return;
  if (type === 'string' && typeof value !== 'string')
    throw new TypedError(`${path}: expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`);
  if (type === 'numeric' && !isNumeric(value))
    throw new TypedError(`${path}: expected numeric (int or float), got ${goTypeOf(value)}`);
  if (type === 'boolean' && typeof value !== 'boolean')
    throw new TypedError(`${path}: expected boolean, got &{${goValue(value)}}`);
}
