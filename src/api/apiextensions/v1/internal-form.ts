// Versions and schemas as upstream's messages show them: in the form in which the server holds them, with Go's names of
// the fields and all of these, in their order.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import type { Json, JsonObject } from '../../../apimachinery/json.ts';
import { isObject, obj, objs, str } from '../../../apimachinery/json-access.ts';
import type { CustomResourceDefinitionVersion } from '../../generated/types/apiextensions-v1.ts';

type Shown = (value: Json | undefined) => Json;

const text: Shown = (value) => value ?? '';
const flag: Shown = (value) => value ?? false;
const any: Shown = (value) => value ?? null;
const list =
  (element: Shown): Shown =>
  (value) =>
    Array.isArray(value) ? value.map(element) : null;
/** In the order of their keys, as Go writes maps. */
const map =
  (element: Shown): Shown =>
  (value) =>
    isObject(value)
      ? Object.fromEntries(
          Object.keys(value)
            .sort()
            .map((key) => [key, element(value[key])]),
        )
      : null;
const struct =
  (fields: readonly (readonly [goName: string, name: string, shown: Shown])[]): Shown =>
  (value) =>
    isObject(value)
      ? Object.fromEntries(fields.map(([goName, name, shown]) => [goName, shown(value[name])]))
      : null;

/** A schema, or a list of what `name` says. */
const schemaOr =
  (name: string, element: Shown): Shown =>
  (value) =>
    value === undefined || value === null
      ? null
      : { Schema: schema(isObject(value) ? value : undefined), [name]: list(element)(value) };
const schemaOrBool: Shown = (value) =>
  value === undefined || value === null
    ? null
    : { Allows: value !== false, Schema: schema(isObject(value) ? value : undefined) };

const rule = struct([
  ['Rule', 'rule', text],
  ['Message', 'message', text],
  ['MessageExpression', 'messageExpression', text],
  ['Reason', 'reason', any],
  ['FieldPath', 'fieldPath', text],
  ['OptionalOldSelf', 'optionalOldSelf', any],
]);
const externalDocs = struct([
  ['Description', 'description', text],
  ['URL', 'url', text],
]);

const schemaFields: readonly (readonly [goName: string, name: string, shown: Shown])[] = [
  ['ID', 'id', text],
  ['Schema', '$schema', text],
  ['Ref', '$ref', any],
  ['Description', 'description', text],
  ['Type', 'type', text],
  ['Nullable', 'nullable', flag],
  ['Format', 'format', text],
  ['Title', 'title', text],
  ['Default', 'default', any],
  ['Maximum', 'maximum', any],
  ['ExclusiveMaximum', 'exclusiveMaximum', flag],
  ['Minimum', 'minimum', any],
  ['ExclusiveMinimum', 'exclusiveMinimum', flag],
  ['MaxLength', 'maxLength', any],
  ['MinLength', 'minLength', any],
  ['Pattern', 'pattern', text],
  ['MaxItems', 'maxItems', any],
  ['MinItems', 'minItems', any],
  ['UniqueItems', 'uniqueItems', flag],
  ['MultipleOf', 'multipleOf', any],
  ['Enum', 'enum', any],
  ['MaxProperties', 'maxProperties', any],
  ['MinProperties', 'minProperties', any],
  ['Required', 'required', any],
  ['Items', 'items', schemaOr('JSONSchemas', (value) => schema(value))],
  ['AllOf', 'allOf', list((value) => schema(value))],
  ['OneOf', 'oneOf', list((value) => schema(value))],
  ['AnyOf', 'anyOf', list((value) => schema(value))],
  ['Not', 'not', (value) => schema(value)],
  ['Properties', 'properties', map((value) => schema(value))],
  ['AdditionalProperties', 'additionalProperties', schemaOrBool],
  ['PatternProperties', 'patternProperties', map((value) => schema(value))],
  ['Dependencies', 'dependencies', map(schemaOr('Property', text))],
  ['AdditionalItems', 'additionalItems', schemaOrBool],
  ['Definitions', 'definitions', map((value) => schema(value))],
  ['ExternalDocs', 'externalDocs', externalDocs],
  ['Example', 'example', any],
  ['XPreserveUnknownFields', 'x-kubernetes-preserve-unknown-fields', any],
  ['XEmbeddedResource', 'x-kubernetes-embedded-resource', flag],
  ['XIntOrString', 'x-kubernetes-int-or-string', flag],
  ['XListMapKeys', 'x-kubernetes-list-map-keys', any],
  ['XListType', 'x-kubernetes-list-type', any],
  ['XMapType', 'x-kubernetes-map-type', any],
  ['XValidations', 'x-kubernetes-validations', list(rule)],
];
const schema: Shown = struct(schemaFields);

export const shownSchema = (given: JsonObject): Json => schema(given);
/** What `items` says, a schema or several. */
export const shownItems = (given: Json): Json => schemaOr('JSONSchemas', (value) => schema(value))(given);

const columns: Shown = (value) =>
  Array.isArray(value)
    ? objs(value).map((column) => ({
        Name: str(column['name']),
        Type: str(column['type']),
        Format: str(column['format']),
        Description: str(column['description']),
        Priority: column['priority'] ?? 0,
        JSONPath: str(column['jsonPath']),
      }))
    : null;
const subresources = struct([
  ['Status', 'status', (value) => (value === undefined ? null : {})],
  [
    'Scale',
    'scale',
    struct([
      ['SpecReplicasPath', 'specReplicasPath', text],
      ['StatusReplicasPath', 'statusReplicasPath', text],
      ['LabelSelectorPath', 'labelSelectorPath', any],
    ]),
  ],
]);
const version = struct([
  ['Name', 'name', text],
  ['Served', 'served', flag],
  ['Storage', 'storage', flag],
  ['Deprecated', 'deprecated', flag],
  ['DeprecationWarning', 'deprecationWarning', any],
  [
    'Schema',
    'schema',
    (value) => (value === undefined ? null : { OpenAPIV3Schema: schema(obj(value)['openAPIV3Schema']) }),
  ],
  ['Subresources', 'subresources', subresources],
  ['AdditionalPrinterColumns', 'additionalPrinterColumns', columns],
  ['SelectableFields', 'selectableFields', list(struct([['JSONPath', 'jsonPath', text]]))],
]);

/** Without what all versions have in common: that stands elsewhere. */
export const shownVersions = (given: readonly Decoded<CustomResourceDefinitionVersion>[] | undefined): Json =>
  list(version)(given as Json | undefined);
