// The rules of a definition's schema that each schema within it has to keep, whatever it describes; in upstream's words.
import { forbidden, invalid, notSupported } from '../../../apimachinery/field-error.ts';
import type { Json, JsonObject } from '../../../apimachinery/json.ts';
import { bool, isObject, obj, objs, str } from '../../../apimachinery/json-access.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { atomicSetErrors, listErrors, mapListKeyErrors, mapTypeErrors } from './validate-schema-lists.ts';
import { ruleTextErrors } from './validate-schema-rules.ts';

/** Rules that an update keeps only if the definition kept them before: what is stored must stay writable. */
export interface SchemaStrictness {
  readonly propertyTypes: boolean;
  readonly atomicSets: boolean;
  readonly mapListKeys: boolean;
}

export const openApiTypes: readonly string[] = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

interface Place {
  readonly path: string;
  /** The root, or a resource within: it has metadata, kind and apiVersion. */
  readonly root: boolean;
  /** Within those three of a resource. */
  readonly inMeta: boolean;
  /** Why no default may stand here. */
  readonly noDefaults?: string;
}

export function definitionSchemaErrors(
  schema: JsonObject,
  path: string,
  strictness: SchemaStrictness,
): Errors {
  const errors: Errors = [];
  visit(schema, { path, root: true, inMeta: false }, strictness, errors);
  return errors;
}

const metaFields: readonly string[] = ['metadata', 'kind', 'apiVersion'];

function visit(schema: JsonObject, place: Place, strictness: SchemaStrictness, errors: Errors): void {
  const { path } = place;
  errors.push(...standardErrors(schema, place, strictness));
  if (bool(schema['uniqueItems']))
    errors.push(
      forbidden(
        `${path}.uniqueItems`,
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ),
    );
  const more = schema['additionalProperties'];
  if (more !== undefined && more !== true && Object.keys(obj(schema['properties'])).length > 0)
    errors.push(
      forbidden(`${path}.additionalProperties`, 'additionalProperties and properties are mutual exclusive'),
    );
  visitParts(schema, place, strictness, errors);
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    errors.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'));
  errors.push(...mapTypeErrors(schema, path));
  errors.push(...listErrors(schema, path));
  if (strictness.atomicSets) errors.push(...atomicSetErrors(schema, path));
  if (strictness.mapListKeys) errors.push(...mapListKeyErrors(schema, path));
  errors.push(...ruleTextErrors(schema, path));
}

function visitParts(schema: JsonObject, place: Place, strictness: SchemaStrictness, errors: Errors): void {
  const { path, root, inMeta } = place;
  const below = { ...place, root: false };
  const into = (part: Json | undefined, at: string, where: Omit<Place, 'path'> = below): void => {
    if (isObject(part)) visit(part, { ...where, path: `${path}.${at}` }, strictness, errors);
  };
  into(
    schema['additionalProperties'],
    'additionalProperties',
    inMeta ? { ...below, noDefaults: 'inside additionalProperties applying to object metadata' } : below,
  );
  const isResource = root || bool(schema['x-kubernetes-embedded-resource']);
  for (const [name, property] of Object.entries(obj(schema['properties']))) {
    const isMeta = isResource && metaFields.includes(name);
    into(property, `properties[${name}]`, {
      ...below,
      inMeta: inMeta || isMeta,
      ...(root && isMeta ? { noDefaults: `in top-level ${name}` } : {}),
    });
  }
  into(schema['not'], 'not');
  for (const junctor of ['allOf', 'oneOf', 'anyOf'])
    for (const [i, one] of objs(schema[junctor]).entries()) into(one, `${junctor}[${i}]`);
  for (const [name, one] of Object.entries(obj(schema['definitions']))) into(one, `definitions[${name}]`);
  into(schema['items'], 'items');
  for (const [i, one] of objs(schema['items']).entries()) into(one, `items[${i}]`);
  for (const [name, one] of Object.entries(obj(schema['dependencies']))) into(one, `dependencies[${name}]`);
}

const isGiven = (value: Json | undefined): boolean =>
  value !== undefined && value !== '' && !(isObject(value) && Object.keys(value).length === 0);

function standardErrors(schema: JsonObject, place: Place, strictness: SchemaStrictness): Errors {
  const { path, inMeta, noDefaults } = place;
  const errors: Errors = [];
  const type = str(schema['type']);
  if (strictness.propertyTypes && type !== '' && !openApiTypes.includes(type))
    errors.push(notSupported(`${path}.type`, type, openApiTypes));
  if (schema['default'] !== undefined && noDefaults !== undefined)
    errors.push(forbidden(`${path}.default`, `must not be set ${noDefaults}`));
  for (const field of ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'])
    if (isGiven(schema[field])) errors.push(forbidden(`${path}.${field}`, `${field} is not supported`));
  if (type === 'null')
    errors.push(forbidden(`${path}.type`, 'type cannot be set to null, use nullable as an alternative'));
  if (Array.isArray(schema['items']) && schema['items'].length > 0)
    errors.push(forbidden(`${path}.items`, 'items must be a schema object and not an array'));
  if (inMeta && bool(schema['x-kubernetes-embedded-resource']))
    errors.push(
      forbidden(`${path}.x-kubernetes-embedded-resource`, 'must not be used inside of resource meta'),
    );
  return errors;
}
