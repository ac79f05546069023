// From a parsed body to a typed object: unknown and duplicate fields are refused, reported or ignored as the request asks.
import type { JsonObject, Scheme } from './declaration.ts';
import { StatusError } from './errors.ts';
import { decodeObject } from './schema-decode.ts';
import { DecodeError } from './schema-errors.ts';

/** `?fieldValidation=`: the API server's default is Warn. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';
export interface DecodedObject {
  readonly object: JsonObject;
  /** Texts for `Warning:` headers, with Warn. */
  readonly warnings: readonly string[];
}

/** What the schema walk needs of a kind. */
export interface TypedKind {
  readonly version: string;
  readonly kind: string;
  readonly type: string;
}

/** It is no object of the kind: 400 for a body; for a patch that made it so, a fault of the patch. */
export class UndecodableError extends StatusError {
  /** In the decoder's own words. */
  readonly why: string;
  constructor({ kind, version }: TypedKind, why: string) {
    super(
      400,
      'BadRequest',
      `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${why}`,
    );
    this.why = why;
  }
}

/**
 * Reads `object` in place as `kind`: types checked, unknown fields and nulls dropped, the schema's defaults set.
 * Throws UndecodableError.
 */
export function decodeAs(
  scheme: Scheme,
  kind: TypedKind,
  object: JsonObject,
  options: { readonly fieldValidation?: FieldValidation; readonly duplicateFields?: readonly string[] } = {},
): DecodedObject {
  const mode = options.fieldValidation ?? 'Ignore';
  let unknownFields: readonly string[];
  try {
    unknownFields = decodeObject(scheme.plans, kind.type, object).unknownFields;
  } catch (error) {
    if (error instanceof DecodeError) throw new UndecodableError(kind, error.message);
    throw error;
  }
  if (mode === 'Ignore') return { object, warnings: [] };
  const problems = [
    ...unknownFields.map((f) => `unknown field ${JSON.stringify(f)}`),
    ...(options.duplicateFields ?? []).map((f) => `duplicate field ${JSON.stringify(f)}`),
  ];
  if (mode === 'Strict' && problems.length > 0)
    throw new UndecodableError(kind, `strict decoding error: ${problems.join(', ')}`);
  return { object, warnings: problems };
}
