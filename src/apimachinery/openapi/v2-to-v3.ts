// OpenAPI v2 told as v3, for servers that know nothing newer: what they say is kept as far as v3 has a place for it.
import type { Json, JsonObject } from '../json.ts';
import { isObject, obj, objs, str, strs } from '../json-access.ts';

const before = '#/definitions/';
const after = '#/components/schemas/';

/** Values deeper than any schema goes are left out: what a server says is not to be trusted. */
const maxDepth = 100;

/** A type, wherever it stands. What stands beside a reference has no place there in v3. */
export function schemaV3(schema: JsonObject, depth = 0): JsonObject {
  if (depth > maxDepth) return {};
  const { $ref, ...own } = schema;
  const inner = (value: Json): Json => (isObject(value) ? schemaV3(value, depth + 1) : value);
  const told: JsonObject = { ...own };
  for (const name of ['items', 'additionalProperties', 'additionalItems', 'not'])
    if (own[name] !== undefined)
      told[name] = Array.isArray(own[name]) ? own[name].map(inner) : inner(own[name]);
  for (const name of ['allOf', 'anyOf', 'oneOf'])
    if (Array.isArray(own[name])) told[name] = own[name].map(inner);
  if (isObject(own['properties']))
    told['properties'] = Object.fromEntries(
      Object.entries(own['properties']).map(([name, value]) => [name, inner(value ?? {})]),
    );
  const reference = str($ref);
  if (!reference.startsWith(before)) return told;
  const named = { $ref: after + reference.slice(before.length) };
  return Object.keys(told).length === 0 ? named : { ...told, allOf: [named] };
}

/** More than any server has; v2 names a schema once for all of them, v3 has it with each. */
export const maxMediaTypes = 10;
/** Of characters. */
const longestMediaType = 127;

/** The same for each media type. */
function content(types: readonly string[], schema: Json | undefined): JsonObject {
  const told = { schema: schemaV3(obj(schema)) };
  const named = types.slice(0, maxMediaTypes).filter(({ length }) => length <= longestMediaType);
  return Object.fromEntries(named.map((type) => [type, told]));
}

function parameterV3(parameter: JsonObject): JsonObject {
  const { schema, type, format, uniqueItems, items, enum: values, ...told } = parameter;
  if (isObject(schema)) return { ...told, schema: schemaV3(schema) };
  const simple = Object.entries({ type, format, uniqueItems, items, enum: values });
  return { ...told, schema: Object.fromEntries(simple.filter(([, value]) => value !== undefined)) };
}

const kept = ['description', 'externalDocs', 'tags', 'summary', 'deprecated', 'operationId'];

function operationV3(operation: JsonObject): JsonObject {
  const told: JsonObject = {};
  for (const [name, value] of Object.entries(operation))
    if (kept.includes(name) || name.startsWith('x-')) told[name] = value;
  const isBody = (parameter: JsonObject): boolean =>
    parameter['name'] === 'body' && isObject(parameter['schema']);
  const parameters = objs(operation['parameters']);
  const body = parameters.find(isBody);
  const others = parameters.filter((one) => !isBody(one)).map(parameterV3);
  if (others.length > 0) told['parameters'] = others;
  if (body !== undefined)
    told['requestBody'] = { content: content(strs(operation['consumes']), body['schema']) };
  const produces = strs(operation['produces']);
  told['responses'] = Object.fromEntries(
    Object.entries(obj(operation['responses'])).map(([code, answer]) => {
      const { schema, headers: _, examples: __, ...response } = obj(answer);
      return [code, isObject(schema) ? { ...response, content: content(produces, schema) } : response];
    }),
  );
  return told;
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'];

export function pathV3(item: JsonObject): JsonObject {
  const told: JsonObject = {};
  for (const [name, value] of Object.entries(item)) {
    if (methods.includes(name) && isObject(value)) told[name] = operationV3(value);
    else if (name === 'parameters') told[name] = objs(value).map(parameterV3);
    else if (name.startsWith('x-')) told[name] = value;
  }
  return told;
}
