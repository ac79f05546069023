// Turns a request body into an object of its kind: media type, kind check, types, defaults, unknown fields.
import type { Json, JsonObject, ResourceDeclaration, Scheme } from '../../apimachinery/declaration.ts';
import {
  badRequest,
  internalError,
  invalidObject,
  StatusError,
  unsupportedMediaType,
} from '../../apimachinery/errors.ts';
import { invalid } from '../../apimachinery/field-error.ts';
import {
  decodeAs,
  duplicateField,
  type FieldValidation,
  repeatedKeys,
  type StrictProblems,
  UndecodableError,
  unknownField,
} from '../../apimachinery/field-validation.ts';
import { goText } from '../../apimachinery/go-format.ts';
import { isObject, nameOf } from '../../apimachinery/json-access.ts';
import { assertBounded, boundsOf, type ObjectBounds } from '../../apimachinery/object-bounds.ts';
import { goValueName } from '../../apimachinery/schema-errors.ts';
import {
  inTextOrder,
  type ParsedJson,
  parseJsonText,
  parseJsonTextSteps,
} from '../../apimachinery/serializer/json-text.ts';
import type { ExpectedKind, ProtobufListParts } from '../../apimachinery/serializer/protobuf/envelope.ts';
import { inTurns, type Turns } from '../../base/turns.ts';
import type { YamlBody } from '../../base/yaml.ts';
import { heavyBytes, type RequestContext } from '../request-context.ts';

/** As upstream's MaxRequestBodyBytes. */
export const maxBodyBytes: number = 3 * 1024 * 1024;
const acceptedBodies: readonly string[] = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
];

export interface ProtobufCodec {
  /** Decodes a body with the `k8s\0` prefix; kind and apiVersion come from its envelope. Throws Error. */
  decode(body: Buffer, expected: ExpectedKind): JsonObject;
  /** By the object's own kind. Throws when it has no protobuf form. */
  encode(object: JsonObject): Buffer;
  /** A list in pieces. Throws when it has no protobuf form. */
  list(shell: JsonObject, key: string): ProtobufListParts;
  /** One event of a watch stream around an encoded object, with its length. */
  encodeWatchFrame(type: string, object: Buffer): Buffer;
}

/** The kind that a body is to be. */
export interface DecodeTarget {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Of the group: those that have the same form, and are taken as well. */
  readonly otherVersions?: readonly string[] | undefined;
  /** Full type name. */
  readonly type: string;
  readonly custom?: boolean | undefined;
  readonly applyDefaults?: ((object: JsonObject) => void) | undefined;
}

export const targetOf = (d: ResourceDeclaration): DecodeTarget => ({
  group: d.group,
  version: d.version,
  kind: d.kind,
  type: d.type,
  custom: d.custom,
  applyDefaults: d.strategy.applyDefaults,
});

export function fieldValidationOf(context: RequestContext): FieldValidation {
  const value = context.query.get('fieldValidation');
  // Another value was refused with the other options of the write.
  return value === 'Ignore' || value === 'Strict' ? value : 'Warn';
}

/** Where upstream keeps a group's internal types. */
export const internalPackage = (group: string): string => (group === '' ? 'core' : group.split('.', 1)[0]!);

export const mediaTypeOf = (context: RequestContext): string =>
  context.header('content-type').split(';', 1)[0]!.trim().toLowerCase();

const apiVersionText = (k: Pick<DecodeTarget, 'group' | 'version'>): string =>
  k.group === '' ? k.version : `${k.group}/${k.version}`;

export interface DecodeOptions {
  readonly validation: FieldValidation;
  /** What the object was read from, for errors. None: it is what a patch made. */
  readonly body?: Buffer;
  /** The body as JSON. */
  readonly json?: string | undefined;
  warn(text: string): void;
}

/** What reads a body. */
export interface BodyReaders {
  readonly protobuf: ProtobufCodec | undefined;
  /** The first document of a text as JSON. */
  readYaml(text: string): Promise<YamlBody>;
  /** Where large bodies take turns. */
  readonly turns: Turns;
}

/** A text of a request, in turns when the request is a heavy one. Throws as parseJsonText. */
export const readText = (
  context: RequestContext,
  text: string,
  bounds: ObjectBounds,
  { turns }: Pick<BodyReaders, 'turns'>,
): ParsedJson | Promise<ParsedJson> =>
  context.heavy ? inTurns(parseJsonTextSteps(text, bounds), turns) : parseJsonText(text, bounds);

/** Reads, checks and defaults the body of a request. */
export async function readObject(
  context: RequestContext,
  target: DecodeTarget,
  deps: BodyReaders & { readonly scheme: Scheme },
): Promise<JsonObject> {
  return decodeBody(context, await context.readBody(maxBodyBytes), target, deps);
}

/** The same of a body that was read; as often as it is needed anew. */
export async function decodeBody(
  context: RequestContext,
  body: Buffer,
  target: DecodeTarget,
  deps: BodyReaders & { readonly scheme: Scheme },
): Promise<JsonObject> {
  const { scheme, turns } = deps;
  const { value, json, problems } = await parseBody(context, body, target, deps);
  const options: DecodeOptions = {
    validation: fieldValidationOf(context),
    body,
    json,
    warn: (text) => context.warn(text),
  };
  if (context.heavy) await turns.take();
  const object = decodeParsed(value, scheme, target, options, problems);
  context.audit?.requestObject(object);
  return object;
}

interface ParsedBody {
  readonly value: JsonObject;
  /** The text that it was read from. */
  readonly json?: string;
  /** Where the text is not as a strict reader wants it. */
  readonly problems?: StrictProblems | undefined;
}

/** Bytes of a body that an error shows. */
const shownBytes = 30;

function summaryOf(body: Buffer): string {
  if (body.length === 0) return '<empty>';
  const shown = body.subarray(0, shownBytes);
  return `${shown.toString(shown[0] === 0x7b ? 'utf8' : 'hex')}${body.length > shownBytes ? ' ...' : ''}`;
}

const unrecognized = (
  target: DecodeTarget,
  error: unknown,
  body: Buffer | undefined,
  prefix = '',
): StatusError =>
  badRequest(
    `the object provided is unrecognized (must be of type ${target.kind}): ${prefix}${error instanceof Error ? error.message : String(error)}${body === undefined ? '' : ` (${summaryOf(body)})`}`,
  );

export async function parseBody(
  context: RequestContext,
  body: Buffer,
  target: DecodeTarget,
  readers: BodyReaders,
): Promise<ParsedBody> {
  const bounds = boundsOf(target.kind);
  const mediaType = mediaTypeOf(context);
  if (context.heavy) await readers.turns.take();
  if (mediaType === 'application/vnd.kubernetes.protobuf' && readers.protobuf !== undefined) {
    try {
      const { kind, otherVersions } = target;
      const expected = { apiVersion: apiVersionText(target), kind, otherVersions };
      const value = readers.protobuf.decode(body, expected);
      if (body.length > heavyBytes) assertBounded(value, bounds);
      return { value };
    } catch (error) {
      if (error instanceof StatusError) throw error;
      throw unrecognized(target, error, body);
    }
  }
  let text: string;
  let repeated: readonly string[] = [];
  const isUntold = mediaType === '' && context.header('content-type') === '';
  if (mediaType === 'application/json' || isUntold) text = body.toString();
  else if (mediaType === 'application/yaml')
    ({ json: text, repeated } = await yamlAsJson(body, target, readers));
  else throw unsupportedMediaType(acceptedBodies);
  const prefix = "couldn't get version/kind; json parse error: ";
  try {
    const parsed = await readText(context, text, bounds, readers);
    // As Go reads null into an object: nothing is said.
    if (parsed.value === null) return { value: {}, json: text };
    if (isObject(parsed.value)) {
      if (body.length > heavyBytes) assertBounded(parsed.value, bounds);
      const { value, duplicateFields } = parsed;
      if (repeated.length > 0)
        return {
          value,
          json: text,
          problems: (unknown) => [repeatedKeys(repeated), ...[...unknown].sort().map(unknownField)],
        };
      return duplicateFields.length === 0
        ? { value, json: text }
        : { value, json: text, problems: problemsOf(text, duplicateFields, target) };
    }
    const what = Array.isArray(parsed.value)
      ? 'array'
      : typeof parsed.value === 'boolean'
        ? 'bool'
        : typeof parsed.value;
    throw new Error(
      `json: cannot unmarshal ${what} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    );
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw unrecognized(target, error, body, prefix);
  }
}

/** A kind of Go's is read and checked in one pass; what is in a custom resource is known after all of it was read. */
const problemsOf =
  (text: string, duplicates: readonly string[], target: DecodeTarget): StrictProblems =>
  (unknown) =>
    target.custom === true
      ? [...duplicates.map(duplicateField), ...unknown.map(unknownField)]
      : inTextOrder(text, duplicates, unknown).map(({ path, isUnknown }) =>
          isUnknown ? unknownField(path) : duplicateField(path),
        );

async function yamlAsJson(body: Buffer, target: DecodeTarget, readers: BodyReaders): Promise<YamlBody> {
  try {
    return await readers.readYaml(body.toString());
  } catch (error) {
    throw unrecognized(target, error, body, 'yaml: ');
  }
}

/** Checks kind and types and sets defaults, in place. */
export function decodeParsed(
  object: JsonObject,
  scheme: Scheme,
  target: DecodeTarget,
  options: DecodeOptions,
  problems?: StrictProblems,
): JsonObject {
  if (target.custom === true) checkCustomKind(object, target, options);
  else checkKind(object, target, options.body);
  const decoded = decodeAs(scheme, target, object, {
    fieldValidation: options.validation,
    problems,
  });
  for (const warning of decoded.warnings) options.warn(warning);
  target.applyDefaults?.(object);
  return object;
}

const noText = (field: string, value: Json): string =>
  `couldn't get version/kind; json parse error: json: cannot unmarshal ${goValueName(value)} into Go struct field .${field} of type string`;

/** A custom resource says itself what it is. Upstream reads all of them in the same way, and then looks whether it is one of this kind. */
function checkCustomKind(object: JsonObject, target: DecodeTarget, options: DecodeOptions): void {
  const { body } = options;
  const fault = (why: string): StatusError =>
    body === undefined ? new UndecodableError(target, why) : unrecognized(target, why, body);
  const said = { kind: object['kind'] ?? '', apiVersion: object['apiVersion'] ?? '' };
  for (const [field, value] of Object.entries(said))
    if (typeof value !== 'string') throw fault(noText(field, value));
  const { kind, apiVersion } = said as { kind: string; apiVersion: string };
  const [first, second, more] = apiVersion.split('/');
  if (more !== undefined) throw fault(`unexpected GroupVersion string: ${apiVersion}`);
  const [group, version] = second === undefined ? ['', first!] : [first!, second];
  if (kind === '') {
    const missing = (text: string): string => `Object 'Kind' is missing in '${text}'`;
    if (body !== undefined && options.validation !== 'Ignore') throw fault(missing(body.toString()));
    const read = { kind: target.kind, version: apiVersion === '' ? target.version : version };
    throw new UndecodableError({ ...target, ...read }, missing(options.json ?? goText(object)));
  }
  if (object['apiVersion'] === null)
    throw new UndecodableError(
      { ...target, version: '' },
      '.apiVersion accessor error: <nil> is of the type <nil>, expected string',
    );
  const expected = apiVersionText(target);
  const found = apiVersionText({ group, version });
  if (found !== expected && body !== undefined)
    throw badRequest(
      `the API version in the data (${found}) does not match the expected API version (${expected})`,
    );
  if (found === '')
    throw internalError(new Error("Object 'apiVersion' is missing in 'object has no apiVersion field'"));
  const faults = [];
  if (kind !== target.kind) faults.push(invalid('kind', kind, `must be ${target.kind}`));
  if (found !== expected) faults.push(invalid('apiVersion', apiVersion, `must be ${expected}`));
  if (faults.length > 0) throw invalidObject({ group, kind }, nameOf(object), faults);
}

/** What is not named is taken from the path, as upstream. */
function checkKind(object: JsonObject, target: DecodeTarget, body: Buffer | undefined): void {
  const expected = apiVersionText(target);
  const kind = object['kind'] || target.kind;
  const apiVersion = object['apiVersion'] || expected;
  if (typeof kind !== 'string' || typeof apiVersion !== 'string') {
    const [field, value] = typeof kind === 'string' ? ['apiVersion', apiVersion] : ['kind', kind];
    throw unrecognized(target, noText(field, value), body);
  }
  // DeleteOptions and the like are known in every group.
  if (kind !== target.kind || (apiVersion !== expected && !target.type.includes('.meta.v1.'))) {
    const at = apiVersion.indexOf('/');
    if (at !== apiVersion.lastIndexOf('/'))
      throw unrecognized(target, `unexpected GroupVersion string: ${apiVersion}`, body);
    const group = at < 0 ? '' : apiVersion.slice(0, at);
    const version = apiVersion.slice(at + 1);
    if (kind === target.kind && group === target.group) {
      if (target.otherVersions?.includes(version)) {
        Object.assign(object, { kind, apiVersion: expected });
        return;
      }
      throw badRequest(
        `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
      );
    }
    throw badRequest(
      `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${target.kind}: converting (${version}.${kind}) to (${internalPackage(target.group)}.${target.kind}): unknown conversion`,
    );
  }
  if (object['kind'] !== kind) object['kind'] = kind;
  if (object['apiVersion'] !== apiVersion) object['apiVersion'] = apiVersion;
}
