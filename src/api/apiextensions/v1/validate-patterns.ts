// The patterns of a schema: a text that is no expression would silently check nothing.
import { type FieldError, invalid } from '../../../apimachinery/field-error.ts';
import type { Json, JsonObject } from '../../../apimachinery/json.ts';
import { isObject, obj, objs } from '../../../apimachinery/json-access.ts';
import { compilePattern } from '../../../base/regular-expression.ts';

/** In upstream's words; `path` is the schema's. */
export function patternErrors(schema: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  visit(schema, path, errors);
  return errors;
}

function visit(schema: Json | undefined, path: string, errors: FieldError[]): void {
  if (!isObject(schema)) return;
  const pattern = schema['pattern'];
  if (typeof pattern === 'string' && pattern !== '') check(pattern, `${path}.pattern`, errors);
  for (const [name, property] of Object.entries(obj(schema['properties'])))
    visit(property, `${path}.properties[${name}]`, errors);
  for (const part of ['items', 'additionalProperties', 'not']) visit(schema[part], `${path}.${part}`, errors);
  for (const part of ['allOf', 'anyOf', 'oneOf'])
    for (const [i, one] of objs(schema[part]).entries()) visit(one, `${path}.${part}[${i}]`, errors);
}

function check(pattern: string, path: string, errors: FieldError[]): void {
  try {
    compilePattern(pattern);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    errors.push(invalid(path, pattern, `must be a valid regular expression, but isn't: ${why}`));
  }
}
