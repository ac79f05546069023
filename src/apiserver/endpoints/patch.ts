// PATCH: JSON patch, merge patch, strategic merge patch and server-side apply, tried again when a writer was faster.

import type { Json, JsonObject, ResourceDeclaration } from '../../apimachinery/declaration.ts';
import {
  badRequest,
  conflict,
  invalidObject,
  StatusError,
  unsupportedMediaType,
} from '../../apimachinery/errors.ts';
import { invalid } from '../../apimachinery/field-error.ts';
import {
  decodeAs,
  duplicateField,
  repeatedKeys,
  type StrictProblems,
  strictWarnings,
  UndecodableError,
  unknownField,
} from '../../apimachinery/field-validation.ts';
import { goText, goValue } from '../../apimachinery/go-format.ts';
import { copyJson, isObject, str } from '../../apimachinery/json-access.ts';
import { assertBounded, boundsOf } from '../../apimachinery/object-bounds.ts';
import { apiVersionOf } from '../../apimachinery/resource-ref.ts';
import { goValueName } from '../../apimachinery/schema-errors.ts';
import { readJsonSteps } from '../../apimachinery/serializer/json-numbers.ts';
import { inTextOrder } from '../../apimachinery/serializer/json-text.ts';
import { rfc3339 } from '../../base/clock.ts';
import { put } from '../../base/put.ts';
import { shownPath } from '../../base/shown-path.ts';
import { atOnceIfPossible, eachInTurn, inTurns } from '../../base/turns.ts';
import type { ApiResponse } from '../http.ts';
import { queryBoolean } from '../query.ts';
import {
  type DecodeTarget,
  decodeParsed,
  fieldValidationOf,
  maxBodyBytes,
  mediaTypeOf,
  readText,
  targetOf,
} from '../registry/decode-body.ts';
import { ensureMeta } from '../registry/object-meta.ts';
import { applyYaml, createCheck, type EndpointRequest, fieldManagerOf, writeOptions } from './endpoint.ts';
import { respondStored } from './object-response.ts';
import { jsonPatch, mergePatch, patchedObject, strategicPatch } from './patched-object.ts';
import { readTouched } from './touched-parts.ts';

/** Kinds that are not built in have no strategic merge. */
const patchTypes: readonly string[] = [jsonPatch, mergePatch, strategicPatch, applyYaml];

export const patchTypesOf = ({ custom }: ResourceDeclaration): readonly string[] =>
  custom === true ? patchTypes.filter((type) => type !== strategicPatch) : patchTypes;

export async function patchEndpoint(request: EndpointRequest): Promise<ApiResponse> {
  const { context, declaration, store, deps } = request;
  const type = mediaTypeOf(context);
  const known = patchTypesOf(declaration);
  if (!known.includes(type)) throw unsupportedMediaType(known);
  const options = writeOptions(context);
  const body = await context.readBody(maxBodyBytes);
  if (context.heavy) await deps.turns.take();
  const sent = await parsePatch(type, body, request);
  context.audit?.requestPatch(sent.json);
  const patch = sent.value;
  const apply = type === applyYaml;
  if (apply && !isObject(patch)) throw noObject(patch);
  const { namespace, name } = context.info;
  const outcome = await store.update(
    declaration.namespaced ? namespace : '',
    name,
    (current) => (apply ? applied(request, sent, current) : patched(request, type, sent, current)),
    {
      ...options,
      fieldManager: apply ? '' : fieldManagerOf(context),
      authorizeCreate: apply ? createCheck(request) : undefined,
      createAlways: apply,
      leavesCurrent: !apply && isReadInParts(request),
    },
  );
  return respondStored(context, outcome.created ? 201 : 200, outcome.value, declaration, deps);
}

/** As Go reads YAML into a map: of null it is an empty one. */
export const noObject = (patch: unknown): StatusError =>
  badRequest(
    patch === null || patch === undefined
      ? `invalid object type: ${gvkText(undefined, undefined)}`
      : `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${goValueName(patch as Json)} into Go value of type map[string]interface {}`,
  );

interface SentPatch {
  readonly value: unknown;
  /** What it was read from. */
  readonly json: string;
  /** Where its text is not as a strict reader wants it. */
  readonly problems: readonly string[];
}

export async function parsePatch(
  type: string,
  body: Buffer,
  { context, declaration, deps }: EndpointRequest,
): Promise<SentPatch> {
  const bounds = boundsOf(declaration.kind);
  if (type === applyYaml) {
    try {
      const text = body.toString();
      // kubectl sends JSON, which is YAML too: no need for the slow reader.
      if (/^\s*\{\s*"/.test(text)) {
        const { value, duplicateFields } = await readText(context, text, bounds, deps);
        if (duplicateFields.length === 0) return { json: text, value, problems: [] };
      }
      const { json, repeated } = await deps.readYaml(text);
      const problems = repeated.length === 0 ? [] : [repeatedKeys(repeated)];
      return { json, value: (await readText(context, json, bounds, deps)).value, problems };
    } catch (error) {
      if (error instanceof StatusError) throw error;
      throw badRequest(`error decoding YAML: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const isChecked = type !== strategicPatch && fieldValidationOf(context) !== 'Ignore';
  try {
    const json = body.toString();
    const { value, duplicateFields } = await readText(context, json, bounds, deps);
    if (isChecked) assertForm(type, value);
    return { json, value, problems: patchProblems(type, json, value, duplicateFields) };
  } catch (error) {
    if (error instanceof StatusError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw badRequest(isChecked ? `error decoding patch: ${why}` : why);
  }
}

const operationFields: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value']);

/** Keys that come twice, and of operations those that mean nothing. */
function patchProblems(type: string, text: string, patch: unknown, duplicates: readonly string[]): string[] {
  if (type !== jsonPatch) return duplicates.map(duplicateField);
  const unknown: string[] = [];
  for (const [i, operation] of (Array.isArray(patch) ? (patch as unknown[]) : []).entries())
    for (const key in isObject(operation) ? operation : {})
      if (!operationFields.has(key) && unknown.length < maxUnknown) unknown.push(shownPath(`[${i}].${key}`));
  if (unknown.length === 0 && duplicates.length === 0) return [];
  return inTextOrder(text, duplicates, unknown).map(
    ({ path, isUnknown }) => `json patch ${isUnknown ? unknownField(path) : duplicateField(path)}`,
  );
}

/** As of the fields that a kind does not have. */
const maxUnknown = 100;

/** Unless fields are not looked at, upstream reads the patch as what it is to be before it is applied. */
function assertForm(type: string, patch: unknown): void {
  if (patch === null || type === strategicPatch) return;
  if (type === jsonPatch && Array.isArray(patch)) {
    for (const operation of patch as Json[]) assertOperation(operation);
    return;
  }
  if (type !== jsonPatch && isObject(patch)) return;
  const found = Array.isArray(patch) ? 'array' : typeof patch === 'boolean' ? 'bool' : typeof patch;
  const wanted = type === jsonPatch ? '[]handlers.jsonPatchOp' : 'map[string]interface {}';
  throw new TypeError(`json: cannot unmarshal ${found} into Go value of type ${wanted}`);
}

const textFields: readonly string[] = ['op', 'path', 'from'];

function assertOperation(operation: Json): void {
  if (operation === null) return;
  if (!isObject(operation))
    throw new TypeError(
      `json: cannot unmarshal ${goValueName(operation)} into Go value of type handlers.jsonPatchOp`,
    );
  for (const field of textFields) {
    const value = Object.hasOwn(operation, field) ? operation[field] : undefined;
    if (value !== undefined && value !== null && typeof value !== 'string')
      throw new TypeError(
        `json: cannot unmarshal ${goValueName(value)} into Go struct field jsonPatchOp.${field} of type string`,
      );
  }
}

/** Such a text is told of whether or not the kind has more to say. */
export const strictProblems = ({ problems }: SentPatch): StrictProblems | undefined =>
  problems.length === 0 ? undefined : (unknown) => [...problems, ...[...unknown].sort().map(unknownField)];

async function patched(
  request: EndpointRequest,
  type: string,
  sent: SentPatch,
  current: JsonObject | undefined,
): Promise<JsonObject> {
  const { context, declaration } = request;
  const { value: patch } = sent;
  if (current === undefined) throw conflict(declaration, context.info.name, 'the object is gone');
  const result = await patchedObject(request, current, { type, patch, of: declaration.type });
  const strict = strictProblems(sent);
  try {
    return isReadInParts(request)
      ? checkedParts(request, current, result, strict)
      : checkedResult(request, result, targetOf(declaration), strict);
  } catch (error) {
    if (!(error instanceof UndecodableError)) throw error;
    // Upstream makes the object of a strategic merge patch out of a map, without JSON between.
    if (type === strategicPatch) throw faultOfPatch(goValue(patch as JsonObject), error.whyOfMap);
    // What was read in place has lost what was wrong with it.
    const shown = await patchedObject(request, current, { type, patch, of: declaration.type });
    throw faultOfPatch(goText(shown), error.why);
  }
}

/** Upstream answers 422 for a patch whose result is no object of the kind. */
const faultOfPatch = (value: string, why: string): StatusError =>
  invalidObject({ group: '', kind: '' }, '', [invalid('patch', value, why)]);

/** Status patches are most writes of a busy cluster. What they don't touch is put back in any case. */
const isReadInParts = ({ context, declaration }: EndpointRequest): boolean =>
  context.info.subresource === 'status' && declaration.custom !== true && !context.heavy;

/** As checkedResult. */
function checkedParts(
  request: EndpointRequest,
  current: JsonObject,
  result: JsonObject,
  strict: StrictProblems | undefined,
): JsonObject {
  const { declaration } = request;
  const kind = { ...targetOf(declaration), applyDefaults: undefined };
  const whole = readTouched(result, current, (parts) => checkedResult(request, parts, kind, strict));
  declaration.strategy.applyDefaults?.(whole);
  return whole;
}

/** The patched object is read as its kind, as if it had been sent. */
function checkedResult(
  { context, deps }: EndpointRequest,
  result: JsonObject,
  target: DecodeTarget,
  strict?: StrictProblems,
): JsonObject {
  const options = { validation: fieldValidationOf(context), warn: (text: string) => context.warn(text) };
  return decodeParsed(result, deps.scheme, target, options, strict);
}

/** A large one is read again, which can be done in steps. */
const copyOf = (
  { context, deps }: EndpointRequest,
  { value, json }: SentPatch,
): JsonObject | Promise<JsonObject> =>
  context.heavy
    ? (eachInTurn(readJsonSteps(json), deps.turns) as Promise<JsonObject>)
    : copyJson(value as JsonObject);

/** As Go prints a GroupVersionKind: `/v1, Kind=Pod`. */
function gvkText(apiVersion: unknown, kind: unknown): string {
  const version = typeof apiVersion === 'string' ? apiVersion : '';
  return `${version.includes('/') ? version : `/${version}`}, Kind=${typeof kind === 'string' ? kind : ''}`;
}

/** What is applied must say what it is; who it is may be left to the path. */
export function assertAppliedKind(
  object: JsonObject,
  kind: { readonly group: string; readonly version: string; readonly kind: string },
): JsonObject {
  const sentAs = gvkText(object['apiVersion'], object['kind']);
  if (sentAs !== gvkText(apiVersionOf(kind), kind.kind)) throw badRequest(`invalid object type: ${sentAs}`);
  if (ensureMeta(object)['managedFields'] !== undefined)
    throw badRequest('metadata.managedFields must be nil');
  return object;
}

/** Who it is, where it does not say so itself. */
export function namedAsPath(
  object: JsonObject,
  { name, namespace }: { readonly name: string; readonly namespace: string },
): JsonObject {
  const metadata = ensureMeta(object);
  if (str(metadata['name']) === '') metadata['name'] = name;
  if (namespace !== '' && str(metadata['namespace']) === '') metadata['namespace'] = namespace;
  return object;
}

async function applied(
  request: EndpointRequest,
  sent: SentPatch,
  current: JsonObject | undefined,
): Promise<JsonObject> {
  const { context, declaration, deps } = request;
  const { namespace, name } = context.info;
  const pause = (): Promise<void> | undefined => (context.heavy ? deps.turns.take() : undefined);
  const patch = sent.value as JsonObject;
  if (context.heavy) assertBounded(patch, boundsOf(declaration.kind));
  const copy = await copyOf(request, sent);
  assertAppliedKind(copy, declaration);
  if (deps.fields === undefined) throw unsupportedMediaType(patchTypes.slice(0, 3));
  const steps = deps.fields.apply({
    declaration,
    live: current,
    patch: copy,
    manager: fieldManagerOf(context),
    force: queryBoolean(context.query, 'force') ?? false,
    subresource: context.info.subresource,
    now: rfc3339(deps.now()),
  });
  const result = await (context.heavy ? inTurns(steps, deps.turns) : atOnceIfPossible(steps));
  namedAsPath(result, { name, namespace: declaration.namespaced ? namespace : '' });
  await pause();
  // Values that the schema lets pass and the kind does not; what is applied stays as it was sent, so that no default is owned.
  const checked = await copyOf(request, sent);
  ensureMeta(checked);
  await pause();
  decodeAs(deps.scheme, declaration, checked);
  await pause();
  if (context.heavy) assertBounded(result, boundsOf(declaration.kind));
  await pause();
  tellRepeated(request, sent);
  try {
    const { metadata: _, ...said } = result;
    const before = declaration.custom === true && holdsNull(said) ? copyJson(said) : undefined;
    const checked = checkedResult(request, result, targetOf(declaration));
    if (before !== undefined) putNullsBack(before, checked);
    return checked;
  } catch (error) {
    throw error instanceof UndecodableError ? faultOfPatch(goText(patch), error.why) : error;
  }
}

function holdsNull(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return value === null;
  return Object.values(value).some((item) => item !== undefined && holdsNull(item));
}

/** As upstream, which does not read an applied custom resource anew: null stays where it may not be, and is refused there. */
function putNullsBack(before: Json | undefined, now: Json | undefined): void {
  if (Array.isArray(before)) {
    if (Array.isArray(now)) for (const [i, item] of before.entries()) putNullsBack(item, now[i]);
  } else if (isObject(before) && isObject(now))
    for (const [key, item] of Object.entries(before))
      if (item !== null) putNullsBack(item, now[key]);
      else if (!Object.hasOwn(now, key)) put(now, key, null);
}

/** What an apply says twice is refused where it was asked to be strict, with the lines. */
export function tellRepeated({ context }: EndpointRequest, { problems }: SentPatch): void {
  const validation = fieldValidationOf(context);
  if (problems.length === 0 || validation === 'Ignore') return;
  if (validation === 'Strict')
    throw badRequest(`error strict decoding YAML: error converting YAML to JSON: ${problems.join(', ')}`);
  for (const text of strictWarnings(problems)) context.warn(text);
}
