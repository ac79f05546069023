// From a parsed body to a typed object: unknown and duplicate fields are refused, reported or ignored as the request asks.

import { shownPath } from '../base/shown-path.ts';
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

/** What is told of a text that was read strictly, given the fields that the kind does not have. */
export type StrictProblems = (unknownFields: readonly string[]) => readonly string[];

export const unknownField = (path: string): string => `unknown field ${JSON.stringify(shownPath(path))}`;
export const duplicateField = (path: string): string => `duplicate field ${JSON.stringify(shownPath(path))}`;

/** Upstream tells keys that come twice in YAML as one error, and warns of each. */
const ofYaml = 'yaml: unmarshal errors:\n  ';
export const repeatedKeys = (texts: readonly string[]): string => `${ofYaml}${texts.join('\n  ')}`;
export const strictWarnings = (problems: readonly string[]): string[] =>
  problems.flatMap((text) => (text.startsWith(ofYaml) ? text.slice(ofYaml.length).split('\n  ') : [text]));

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
  /** As upstream tells it of a patched object that is never written as JSON. */
  readonly whyOfMap: string;
  constructor({ kind, version }: TypedKind, why: string, whyOfMap: string = why) {
    super(
      400,
      'BadRequest',
      `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${why}`,
    );
    this.why = why;
    this.whyOfMap = whyOfMap;
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
  options: {
    readonly fieldValidation?: FieldValidation;
    readonly problems?: StrictProblems | undefined;
  } = {},
): DecodedObject {
  const mode = options.fieldValidation ?? 'Ignore';
  let unknownFields: readonly string[];
  try {
    unknownFields = decodeObject(scheme.plans, kind.type, object).unknownFields;
  } catch (error) {
    if (error instanceof DecodeError) throw new UndecodableError(kind, error.message, error.ofMap);
    throw error;
  }
  if (mode === 'Ignore') return { object, warnings: [] };
  const problems = options.problems?.(unknownFields) ?? unknownFields.map(unknownField);
  if (mode === 'Strict' && problems.length > 0)
    throw new UndecodableError(kind, `strict decoding error: ${problems.join(', ')}`);
  return { object, warnings: strictWarnings(problems) };
}
