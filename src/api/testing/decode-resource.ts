// Reads an object as the API server does, for tests of kinds: types and the schema's defaults, then the kind's own.
import type { JsonObject, ResourceDeclaration, Scheme } from '../../apimachinery/declaration.ts';
import {
  type DecodedObject,
  decodeAs,
  type FieldValidation,
  type StrictProblems,
} from '../../apimachinery/field-validation.ts';

export function decodeResource(
  scheme: Scheme,
  declaration: ResourceDeclaration,
  object: JsonObject,
  options: { readonly fieldValidation?: FieldValidation; readonly problems?: StrictProblems } = {},
): DecodedObject {
  const decoded = decodeAs(scheme, declaration, object, options);
  declaration.strategy.applyDefaults?.(object);
  return decoded;
}
