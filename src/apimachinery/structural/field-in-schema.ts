// Where a path such as `.spec.parts['a.b']` leads in a schema; in upstream's words when it leads nowhere.
import { isObject } from '../json-access.ts';
import { propertiesOf, propertyOf, type StructuralSchema, valuesOf } from './structural-schema.ts';

export type FieldInSchema =
  | { readonly error: string }
  | {
      readonly path: readonly string[];
      /** As errors name it, from where the schema is: `parts[a].name`. */
      readonly place: string;
      readonly schema: StructuralSchema;
    };

const tokens = /'(?:\\.|[^'\\])*'|[.[\]]|[^.[\]]+/gs;
const escapes: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  "'": "'",
  '\\': '\\',
};
const unescaped = (text: string): string =>
  text.replace(/\\(.)/gs, (whole, c: string) => escapes[c] ?? whole);

const nowhere = 'does not refer to a valid field';
const ended = 'unexpected end of JSON path';

const hasFields = (schema: StructuralSchema): boolean => Object.keys(propertiesOf(schema)).length > 0;

function stepInto(schema: StructuralSchema, name: string): StructuralSchema | undefined {
  if (hasFields(schema)) return propertyOf(schema, name);
  const values = valuesOf(schema);
  return isObject(values) ? values : undefined;
}

export function fieldInSchema(
  text: string,
  root: StructuralSchema,
  { brackets }: { readonly brackets: boolean },
): FieldInSchema {
  const words = text.match(tokens) ?? [];
  const path: string[] = [];
  let place = '';
  let schema = root;
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (word !== '.' && word !== '[') return { error: `expected [ or . but got: ${word}` };
    if (word === '[' && !brackets) return { error: 'array notation is not allowed' };
    const token = words[++i];
    if (token === undefined) return { error: ended };
    if (word === '[' && (token.length < 2 || !token.startsWith("'") || !token.endsWith("'")))
      return { error: `expected single quoted string but got ${token}` };
    const name = word === '[' ? unescaped(token.slice(1, -1)) : token;
    const next = stepInto(schema, name);
    if (next === undefined) return { error: nowhere };
    if (!hasFields(schema)) place += `[${name}]`;
    else place += place === '' ? name : `.${name}`;
    schema = next;
    path.push(name);
    if (word === '.') continue;
    const end = words[++i];
    if (end === undefined) return { error: ended };
    if (end !== ']') return { error: `expected ] but got ${end}` };
  }
  return { path, place, schema };
}
