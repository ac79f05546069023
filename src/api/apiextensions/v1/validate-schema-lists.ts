// How lists and maps of a definition's schema merge: x-kubernetes-list-type, -list-map-keys and -map-type.
import { forbidden, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import type { JsonObject } from '../../../apimachinery/json.ts';
import { bool, isObject, obj, str, strs } from '../../../apimachinery/json-access.ts';
import { type Errors, repeated } from '../../../apimachinery/validation/checks.ts';
import { shownItems } from './internal-form.ts';

const listType = 'x-kubernetes-list-type';
const mapType = 'x-kubernetes-map-type';
const mapKeys = 'x-kubernetes-list-map-keys';

/** Required when missing, invalid when another. */
function typeErrors(schema: JsonObject, path: string, wanted: string, extension: string): Errors {
  const type = str(schema['type']);
  if (type === wanted) return [];
  const why = `must be ${wanted} if ${extension} is specified`;
  return [type === '' ? required(`${path}.type`, why) : invalid(`${path}.type`, type, why)];
}

export function mapTypeErrors(schema: JsonObject, path: string): Errors {
  const kind = schema[mapType];
  if (kind === undefined) return [];
  const allowed = ['atomic', 'granular'];
  return [
    ...typeErrors(schema, path, 'object', mapType),
    ...(allowed.includes(str(kind)) ? [] : [notSupported(`${path}.${mapType}`, kind, allowed)]),
  ];
}

export function listErrors(schema: JsonObject, path: string): Errors {
  const kind = schema[listType];
  const errors: Errors = [];
  if (kind !== undefined) {
    errors.push(...typeErrors(schema, path, 'array', listType));
    const allowed = ['atomic', 'set', 'map'];
    if (!allowed.includes(str(kind))) errors.push(notSupported(`${path}.${listType}`, kind, allowed, true));
  }
  if (strs(schema[mapKeys]).length > 0 && kind !== 'map') {
    const why = `must be map if ${mapKeys} is non-empty`;
    const at = `${path}.${listType}`;
    errors.push(kind === undefined ? required(at, why) : invalid(at, kind, why));
  }
  return kind === 'map' ? [...errors, ...mapListErrors(schema, path)] : errors;
}

function mapListErrors(schema: JsonObject, path: string): Errors {
  const errors: Errors = [];
  const keys = strs(schema[mapKeys]);
  const items = schema['items'];
  const ofMap = `if ${listType} is map`;
  if (keys.length === 0) errors.push(required(`${path}.${mapKeys}`, `must not be empty ${ofMap}`));
  if (items === undefined) return [...errors, required(`${path}.items`, `must have a schema ${ofMap}`)];
  if (!isObject(items))
    return [
      ...errors,
      invalid(`${path}.items`, shownItems(items), `must only have a single schema ${ofMap}`),
    ];
  if (items['type'] !== 'object') {
    const why = `must be object if parent array's ${listType} is map`;
    return [...errors, invalid(`${path}.items.type`, str(items['type']), why)];
  }
  const properties = obj(items['properties']);
  const again = repeated(keys);
  keys.forEach((key, i) => {
    const at = `${path}.${mapKeys}`;
    const type = Object.hasOwn(properties, key) ? str(obj(properties[key])['type']) : undefined;
    if (type === undefined) errors.push(invalid(at, keys, 'entries must all be names of item properties'));
    else if (type === 'array' || type === 'object')
      errors.push(
        invalid(
          `${path}.items.properties[${key}].type`,
          'object',
          `must be a scalar type if parent array's ${listType} is map`,
        ),
      );
    if (again.has(i)) errors.push(invalid(at, keys, 'must not contain duplicate entries'));
  });
  return errors;
}

/** Elements of a set are compared whole: what is in them may not be owned apart. */
export function atomicSetErrors(schema: JsonObject, path: string): Errors {
  const items = schema['items'];
  if (schema[listType] !== 'set' || schema['type'] !== 'array' || !isObject(items)) return [];
  const why = `must be atomic as item of a list with ${listType}=set`;
  const kind = items[listType];
  if (items['type'] === 'array' && kind !== undefined && kind !== 'atomic')
    return [invalid(`${path}.items.${listType}`, kind, why)];
  if (items['type'] === 'object' && items[mapType] !== 'atomic')
    return [invalid(`${path}.items.${mapType}`, kind ?? null, why)];
  return [];
}

/** Elements of sets and maps, and the keys of the latter, are always there. */
export function mapListKeyErrors(schema: JsonObject, path: string): Errors {
  const items = schema['items'];
  const kind = str(schema[listType]);
  if (!isObject(items) || (kind !== 'set' && kind !== 'map')) return [];
  const errors: Errors = [];
  if (bool(items['nullable']))
    errors.push(forbidden(`${path}.items.nullable`, `cannot be nullable when ${listType} is ${kind}`));
  if (kind === 'set') return errors;
  const properties = obj(items['properties']);
  const always = strs(items['required']);
  for (const key of strs(schema[mapKeys])) {
    if (!Object.hasOwn(properties, key)) continue;
    const property = obj(properties[key]);
    const at = `${path}.items.properties[${key}]`;
    const because = `this property is in ${mapKeys}, so it`;
    if (!always.includes(key) && property['default'] === undefined)
      errors.push(required(`${at}.default`, `${because} must have a default or be a required property`));
    if (bool(property['nullable'])) errors.push(forbidden(`${at}.nullable`, `${because} cannot be nullable`));
  }
  return errors;
}
