// Defaults of a structural schema: each must itself be what the schema around it allows.
import { jsonEqual } from '../equality.ts';
import { type FieldError, invalid } from '../field-error.ts';
import type { Json } from '../json.ts';
import { prunedDefault } from './prune.ts';
import { isEmbedded, itemsOf, propertiesOf, propertyOf, type StructuralSchema } from './structural-schema.ts';
import { validateStructural } from './validate.ts';

export interface DefaultRules {
  /** False when the definition held defaults with unknown fields before. */
  readonly pruned: boolean;
}

/** `path` is the schema's. Values of maps are not looked at: no default may stand there. */
export function defaultErrors(schema: StructuralSchema, path: string, rules: DefaultRules): FieldError[] {
  const errors: FieldError[] = [];
  visit(schema, { path, inMeta: false, root: true }, rules, errors);
  return errors;
}

interface Place {
  readonly path: string;
  readonly inMeta: boolean;
  readonly root: boolean;
}

const metaFields: readonly string[] = ['metadata', 'kind', 'apiVersion'];

function visit(schema: StructuralSchema, place: Place, rules: DefaultRules, errors: FieldError[]): void {
  const isResource = place.root || isEmbedded(schema);
  const inMeta = place.inMeta && !isResource;
  const given = schema['default'];
  if (given !== undefined) errors.push(...errorsOf(given, schema, { ...place, inMeta }, rules));
  const items = itemsOf(schema);
  if (items) visit(items, { path: `${place.path}.items`, inMeta, root: false }, rules, errors);
  for (const name of Object.keys(propertiesOf(schema))) {
    const property = propertyOf(schema, name);
    if (property === undefined) continue;
    const path = `${place.path}.properties[${name}]`;
    const isMeta = isResource && metaFields.includes(name);
    visit(property, { path, inMeta: inMeta || isMeta, root: false }, rules, errors);
  }
}

function errorsOf(given: Json, schema: StructuralSchema, place: Place, rules: DefaultRules): FieldError[] {
  const at = `${place.path}.default`;
  const errors: FieldError[] = [];
  if (!place.inMeta && rules.pruned && !jsonEqual(prunedDefault(given, schema), given))
    errors.push(invalid(at, given, 'must not have unknown fields'));
  for (const error of validateStructural(given, schema))
    errors.push({ ...error, field: error.field === '<nil>' ? at : `${at}.${error.field}` });
  return errors;
}
