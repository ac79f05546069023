// Which rules a definition has to keep: a new one all of them, a changed one those that it kept before.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import type { JsonObject } from '../../../apimachinery/json.ts';
import { conversionFault } from '../../../apimachinery/structural/convertible.ts';
import { structuralErrors } from '../../../apimachinery/structural/structural-rules.ts';
import type { CustomResourceDefinitionSpec } from '../../generated/types/apiextensions-v1.ts';
import { schemaDefaultErrors } from './schema-defaults.ts';
import { hasSchema } from './schema-walk.ts';
import { hasKnownReviewVersion } from './validate-conversion.ts';
import { openApiTypes, type SchemaStrictness } from './validate-schema.ts';
import { atomicSetErrors, mapListKeyErrors } from './validate-schema-lists.ts';

export interface Strictness extends SchemaStrictness {
  readonly structural: boolean;
  readonly prunedDefaults: boolean;
  /** Every version has a schema. */
  readonly schemas: boolean;
  /** A conversion webhook understands a version of ConversionReview that we speak. */
  readonly reviewVersions: boolean;
  /** Versions that may have more selectable fields than new ones; undefined: all. */
  readonly manySelectable: ReadonlySet<string> | undefined;
}

export const maxSelectableFields = 8;

export const strict: Strictness = {
  propertyTypes: true,
  atomicSets: true,
  mapListKeys: true,
  structural: true,
  prunedDefaults: true,
  schemas: true,
  reviewVersions: true,
  manySelectable: new Set(),
};

/** But for the selectable fields, which are compared one by one. */
export function strictnessFor(
  old: Decoded<CustomResourceDefinitionSpec>,
): Omit<Strictness, 'manySelectable'> {
  const versions = old.versions ?? [];
  const schemas = versions.flatMap(({ schema }) =>
    schema?.openAPIV3Schema === undefined ? [] : [schema.openAPIV3Schema as JsonObject],
  );
  const none = (holds: (schema: JsonObject) => boolean): boolean =>
    !schemas.some((schema) => hasSchema(schema, holds));
  const hasUnknown = (schema: JsonObject): boolean =>
    schemaDefaultErrors(schema, '', true).some(({ message }) =>
      message.endsWith('must not have unknown fields'),
    );
  return {
    propertyTypes: none(
      ({ type }) => type !== undefined && type !== '' && !openApiTypes.includes(String(type)),
    ),
    atomicSets: none((schema) => atomicSetErrors(schema, '').length > 0),
    mapListKeys: none((schema) => mapListKeyErrors(schema, '').length > 0),
    structural: schemas.every(
      (schema) => conversionFault(schema) === undefined && structuralErrors(schema, '').length === 0,
    ),
    prunedDefaults: !schemas.some(hasUnknown),
    schemas: schemas.length === versions.length,
    reviewVersions: hasKnownReviewVersion(old.conversion),
  };
}
