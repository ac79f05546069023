// Defaults of a structural schema: each must itself be what the schema around it allows, and metadata where that stands.
import { jsonEqual } from '../equality.ts';
import { type FieldError, fieldErrorText, invalid } from '../field-error.ts';
import type { Json, JsonObject } from '../json.ts';
import type { PlanSource } from '../plan.ts';
import { embeddedErrors, embeddedFault } from './embedded-resources.ts';
import { prunedDefault } from './prune.ts';
import { isEmbedded, itemsOf, propertiesOf, propertyOf, type StructuralSchema } from './structural-schema.ts';
import { validateStructural } from './validate.ts';

export interface DefaultRules {
  /** False when the definition held defaults with unknown fields before. */
  readonly pruned: boolean;
  /** Of metadata. */
  readonly plans: () => PlanSource;
}

/** `path` is the schema's. Values of maps are not looked at: no default may stand there. */
export function defaultErrors(schema: StructuralSchema, path: string, rules: DefaultRules): FieldError[] {
  const errors: FieldError[] = [];
  visit(schema, { path, inMeta: false, root: true, resource: schema, around: asResource }, rules, errors);
  return errors;
}

interface Place {
  readonly path: string;
  readonly inMeta: boolean;
  readonly root: boolean;
  /** The schema of the resource that it is part of. */
  readonly resource: StructuralSchema;
  /** A resource that has the value there, and nothing else. */
  readonly around: (value: Json) => JsonObject;
}

const metaFields: readonly string[] = ['metadata', 'kind', 'apiVersion'];
const asResource = (value: Json): JsonObject => ({
  kind: 'Validation',
  apiVersion: 'validation/v1',
  ...(value as JsonObject),
});

function visit(schema: StructuralSchema, place: Place, rules: DefaultRules, errors: FieldError[]): void {
  const isResource = place.root || isEmbedded(schema);
  const here = isResource ? { ...place, inMeta: false, resource: schema, around: asResource } : place;
  const given = schema['default'];
  if (given !== undefined) errors.push(...errorsOf(given, schema, here, rules));
  const below = { ...here, root: false };
  const items = itemsOf(schema);
  if (items) {
    const around = (value: Json): JsonObject => here.around([value]);
    visit(items, { ...below, path: `${place.path}.items`, around }, rules, errors);
  }
  for (const name of Object.keys(propertiesOf(schema))) {
    const property = propertyOf(schema, name);
    if (property === undefined) continue;
    const path = `${place.path}.properties[${name}]`;
    const inMeta = here.inMeta || (isResource && metaFields.includes(name));
    const around = (value: Json): JsonObject => here.around({ [name]: value });
    visit(property, { ...below, path, inMeta, around }, rules, errors);
  }
}

function errorsOf(given: Json, schema: StructuralSchema, place: Place, rules: DefaultRules): FieldError[] {
  const at = `${place.path}.default`;
  const errors: FieldError[] = [];
  if (!place.inMeta && rules.pruned && !jsonEqual(prunedDefault(given, schema), given))
    errors.push(invalid(at, given, 'must not have unknown fields'));
  const ofMetadata = metadataErrors(given, schema, place, rules);
  if (ofMetadata.length > 0) return [...errors, ...ofMetadata];
  for (const error of validateStructural(given, schema))
    errors.push({ ...error, field: error.field === '<nil>' ? at : `${at}.${error.field}` });
  return errors;
}

/** Of resources in the default; of a default within metadata, what the resource around it would be. */
function metadataErrors(
  given: Json,
  schema: StructuralSchema,
  place: Place,
  rules: DefaultRules,
): FieldError[] {
  const at = `${place.path}.default`;
  const [value, type, where] = place.inMeta
    ? [place.around(given), place.resource, { path: '', isOne: true }]
    : [given, schema, { path: at, isOne: place.root || isEmbedded(schema) }];
  const fault = embeddedFault(value, type, where, rules.plans);
  const errors = fault === undefined ? embeddedErrors(value, type, where) : [fault];
  if (!place.inMeta || errors.length === 0) return errors;
  const texts = [...new Set(errors.map(fieldErrorText))];
  const all = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  return [invalid(at, given, `must result in valid metadata: ${all}`)];
}
