// Numbers of protobuf for types that come without: in the order of upstream's kinds, then of the alphabet. Pure.
import type { FieldSchema, TypeSchema } from '../../src/apimachinery/json.ts';

const first = ['metadata', 'spec', 'status'];
/** Every kind says these around the message, not in it. */
const around = ['apiVersion', 'kind'];

function wireType({ ref, type, format }: FieldSchema): string {
  if (ref !== undefined) return ref.replace(/^io\.k8s\./, 'k8s.io.');
  if (type === 'integer') return format === 'int32' ? 'int32' : 'int64';
  if (type === 'number') return 'double';
  if (type === 'boolean') return 'bool';
  return format === 'byte' ? 'bytes' : 'string';
}

function numbered(field: FieldSchema, number: number): FieldSchema {
  if (field.items !== undefined) return { ...field, proto: [number, wireType(field.items), 'repeated'] };
  if (field.values !== undefined)
    return { ...field, proto: [number, `map<string, ${wireType(field.values)}>`, 'map'] };
  return { ...field, proto: [number, wireType(field), 'optional'] };
}

export function withNumbers(type: TypeSchema): TypeSchema {
  const names = Object.keys(type.fields ?? {}).filter(
    (name) => type.gvk === undefined || !around.includes(name),
  );
  const order = [
    ...first.filter((name) => names.includes(name)),
    ...names.filter((name) => !first.includes(name)),
  ];
  const fields = Object.entries(type.fields ?? {}).map(([name, field]) => [
    name,
    order.includes(name) ? numbered(field, order.indexOf(name) + 1) : field,
  ]);
  return type.fields === undefined ? type : { ...type, fields: Object.fromEntries(fields) };
}
