// What makes a schema structural: every value has a type of its own, and the junctors (allOf, anyOf, oneOf, not) only
// narrow what is said outside of them. In upstream's words.
import { jsonEqual } from '../equality.ts';
import { type FieldError, fieldErrorText, forbidden, invalid, required } from '../field-error.ts';
import type { Json, JsonObject } from '../json.ts';
import { isObject, obj, objs, str } from '../json-access.ts';
import { patternError } from './pattern-error.ts';
import { isEmbedded, isIntOrString, itemsOf, preserves, type StructuralSchema } from './structural-schema.ts';

type Level = 'root' | 'item' | 'field';

/** `path` is the schema's; sorted, as upstream. */
export function structuralErrors(schema: StructuralSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  invariants(schema, 'root', path, errors);
  junctorsComplete(schema, schema, path, path, errors);
  return errors
    .map((error) => ({ error, text: fieldErrorText(error) }))
    .sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
    .map(({ error }) => error);
}

const schemasOf = (properties: Json | undefined): [string, JsonObject][] =>
  Object.entries(obj(properties)).map(([name, value]) => [name, obj(value)]);

function invariants(s: StructuralSchema, level: Level, path: string, errors: FieldError[]): void {
  const items = itemsOf(s);
  if (s['type'] === 'array' && items === undefined)
    errors.push(required(`${path}.items`, 'must be specified'));
  if (items) invariants(items, 'item', `${path}.items`, errors);
  for (const [name, property] of schemasOf(s['properties']))
    invariants(property, 'field', `${path}.properties[${name}]`, errors);
  const more = s['additionalProperties'];
  if (more !== undefined && level === 'root')
    errors.push(forbidden(`${path}.additionalProperties`, 'must not be used at the root'));
  if (isObject(more)) invariants(more, 'field', `${path}.additionalProperties`, errors);
  extensions(s, path, errors);
  valueRules(
    s,
    isIntOrStringChoice(s['anyOf']),
    isIntOrStringChoice(objs(s['allOf'])[0]?.['anyOf']),
    path,
    errors,
  );
  typeRules(s, level, path, errors);
  objectRules(s, level, path, errors);
}

function extensions(s: StructuralSchema, path: string, errors: FieldError[]): void {
  if (!isIntOrString(s)) return;
  for (const [name, isSet] of [
    ['x-kubernetes-preserve-unknown-fields', preserves(s)],
    ['x-kubernetes-embedded-resource', isEmbedded(s)],
  ] as const)
    if (isSet)
      errors.push(invalid(`${path}.${name}`, true, 'must be false if x-kubernetes-int-or-string is true'));
}

const emptyType: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

function typeRules(s: StructuralSchema, level: Level, path: string, errors: FieldError[]): void {
  const at = `${path}.type`;
  const type = str(s['type']);
  if (isEmbedded(s) && type !== 'object') {
    const why = 'must be object if x-kubernetes-embedded-resource is true';
    errors.push(type === '' ? required(at, why) : invalid(at, type, why));
  } else if (type === '' && !isIntOrString(s) && !preserves(s)) errors.push(required(at, emptyType[level]));
  if (level === 'root' && type !== '' && type !== 'object')
    errors.push(invalid(at, type, 'must be object at the root'));
}

/** Of the root, and of resources within it. */
function objectRules(s: StructuralSchema, level: Level, path: string, errors: FieldError[]): void {
  const properties = obj(s['properties']);
  const isResource = level === 'root' || isEmbedded(s);
  if (isEmbedded(s)) {
    if (s['additionalProperties'] !== undefined)
      errors.push(
        forbidden(
          `${path}.additionalProperties`,
          'must not be used if x-kubernetes-embedded-resource is set',
        ),
      );
    if (!preserves(s) && Object.keys(properties).length === 0)
      errors.push(
        required(
          `${path}.properties`,
          'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
        ),
      );
  }
  if (!isResource) return;
  for (const name of ['kind', 'apiVersion'])
    if (Object.hasOwn(properties, name) && obj(properties[name])['type'] !== 'string')
      errors.push(
        invalid(`${path}.properties[${name}].type`, str(obj(properties[name])['type']), 'must be string'),
      );
  if (!Object.hasOwn(properties, 'metadata')) return;
  const metadata = obj(properties['metadata']);
  const at = `${path}.properties[metadata]`;
  if (metadata['type'] !== 'object')
    errors.push(invalid(`${at}.type`, str(metadata['type']), 'must be object'));
  if (level === 'root' && !saysOnlyNames(metadata))
    errors.push(
      forbidden(
        at,
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      ),
    );
}

const isZero = (value: Json | undefined): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  (Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0);

const saysOnlyNames = (metadata: JsonObject): boolean =>
  Object.entries(metadata).every(([key, value]) =>
    key === 'properties'
      ? Object.keys(obj(value)).every((name) => name === 'name' || name === 'generateName')
      : key === 'type' || key === 'default' || isZero(value),
  );

/** The one place where types may stand in a junctor. */
const isIntOrStringChoice = (anyOf: Json | undefined): boolean =>
  jsonEqual(anyOf, [{ type: 'integer' }, { type: 'string' }]);

function valueRules(
  v: JsonObject,
  skipAnyOf: boolean,
  skipFirstAllOf: boolean,
  path: string,
  errors: FieldError[],
): void {
  if (!skipAnyOf)
    for (const [i, one] of objs(v['anyOf']).entries())
      nestedRules(one, { path: `${path}.anyOf[${i}]`, skipAnyOf: false }, errors);
  for (const [i, one] of objs(v['allOf']).entries())
    nestedRules(one, { path: `${path}.allOf[${i}]`, skipAnyOf: skipFirstAllOf && i === 0 }, errors);
  for (const [i, one] of objs(v['oneOf']).entries())
    nestedRules(one, { path: `${path}.oneOf[${i}]`, skipAnyOf: false }, errors);
  if (isObject(v['not'])) nestedRules(v['not'], { path: `${path}.not`, skipAnyOf: false }, errors);
  const pattern = str(v['pattern']);
  const why = pattern === '' ? undefined : patternError(pattern);
  if (why !== undefined)
    errors.push(invalid(`${path}.pattern`, pattern, `must be a valid regular expression, but isn't: ${why}`));
}

/** What may not stand in a junctor, and why. */
const notNested: readonly (readonly [field: string, why: string])[] = [
  ['type', 'must be empty to be structural'],
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
  ['x-kubernetes-validations', 'must be empty to be structural'],
];

function nestedRules(
  v: JsonObject,
  { path, skipAnyOf }: { readonly path: string; readonly skipAnyOf: boolean },
  errors: FieldError[],
): void {
  valueRules(v, skipAnyOf, false, path, errors);
  const items = itemsOf(v);
  if (items) nestedRules(items, { path: `${path}.items`, skipAnyOf: false }, errors);
  for (const [name, property] of schemasOf(v['properties']))
    nestedRules(property, { path: `${path}.properties[${name}]`, skipAnyOf: false }, errors);
  const more = v['additionalProperties'];
  if (isObject(more) || more === true)
    errors.push(forbidden(`${path}.additionalProperties`, 'must be undefined to be structural'));
  for (const [field, why] of notNested)
    if (field === 'default' ? v[field] !== undefined : !isZero(v[field]))
      errors.push(forbidden(`${path}.${field}`, why));
  if (Object.hasOwn(obj(v['properties']), 'metadata'))
    errors.push(forbidden(`${path}.properties[metadata]`, 'must not be specified in a nested context'));
}

/** What the junctors of `v` speak of, `s` has to know. */
function junctorsComplete(
  v: JsonObject,
  s: StructuralSchema,
  schemaPath: string,
  path: string,
  errors: FieldError[],
): void {
  if (isObject(v['not'])) nestedComplete(v['not'], s, schemaPath, `${path}.not`, errors);
  for (const junctor of ['allOf', 'anyOf', 'oneOf'])
    for (const [i, one] of objs(v[junctor]).entries())
      nestedComplete(one, s, schemaPath, `${path}.${junctor}[${i}]`, errors);
}

function nestedComplete(
  v: JsonObject,
  s: StructuralSchema | undefined,
  schemaPath: string,
  path: string,
  errors: FieldError[],
): void {
  if (s === undefined) {
    errors.push(required(schemaPath, `because it is defined in ${path}`));
    return;
  }
  junctorsComplete(v, s, schemaPath, path, errors);
  const items = itemsOf(v);
  if (items) nestedComplete(items, itemsOf(s), `${schemaPath}.items`, `${path}.items`, errors);
  const known = obj(s['properties']);
  for (const [name, property] of schemasOf(v['properties'])) {
    const at = `.properties[${name}]`;
    const found = Object.hasOwn(known, name) ? obj(known[name]) : undefined;
    nestedComplete(property, found, schemaPath + at, path + at, errors);
  }
}
