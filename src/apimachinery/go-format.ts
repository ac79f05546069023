// Values as Go prints them: where upstream's messages hold what a client sent.
import type { Json } from './json.ts';

const isMap = (value: Json | undefined): value is { readonly [key: string]: Json | undefined } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `%v`: `map[a:1 b:x]`, keys sorted. */
export function goValue(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(goValue).join(' ')}]`;
  if (!isMap(value)) return value === null || value === undefined ? '<nil>' : String(value);
  const members = Object.keys(value).sort();
  return `map[${members.map((key) => `${key}:${goValue(value[key])}`).join(' ')}]`;
}

/** `%#v`: `map[string]interface {}{"a":1}`. */
export function goSyntax(value: Json | undefined): string {
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (!isMap(value))
    return value === null || value === undefined
      ? 'interface {}(nil)'
      : typeof value === 'string'
        ? JSON.stringify(value)
        : String(value);
  const members = Object.keys(value).sort();
  return `map[string]interface {}{${members.map((key) => `${JSON.stringify(key)}:${goSyntax(value[key])}`).join(', ')}}`;
}

/** `%T` of what was read from JSON. */
export function goTypeOf(value: Json): string {
  if (Array.isArray(value)) return '[]interface {}';
  if (isMap(value)) return 'map[string]interface {}';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'bigint' ? 'int64' : 'string';
}
