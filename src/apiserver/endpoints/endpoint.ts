// What every endpoint is given: the request, the kind that is asked for and its registry.
import type { JsonObject, ResourceDeclaration, Scheme } from '../../apimachinery/declaration.ts';
import { forbidden, invalidObject } from '../../apimachinery/errors.ts';
import {
  type FieldError,
  forbidden as forbiddenField,
  invalid,
  notSupported,
  required,
  tooLong,
} from '../../apimachinery/field-error.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Steps, Turns } from '../../base/turns.ts';
import type { YamlBody } from '../../base/yaml.ts';
import { attributesOf, noSelectors } from '../authorization/attributes.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { ApiResponse } from '../http.ts';
import { mediaTypeOf, type ProtobufCodec } from '../registry/decode-body.ts';
import type { FieldTracker } from '../registry/field-manager.ts';
import type { RestStorage } from '../registry/rest-storage.ts';
import type { ResourceStore } from '../registry/store.ts';
import type { WriteOptions } from '../registry/stored-resource.ts';
import type { RequestContext } from '../request-context.ts';

export interface EndpointDependencies {
  readonly scheme: Scheme;
  readonly clock: Clock;
  readonly random: Random;
  readonly protobuf: ProtobufCodec | undefined;
  readonly fields: FieldTracker | undefined;
  readonly rest: RestStorage;
  readonly authorizer: Authorizer;
  store(declaration: ResourceDeclaration): ResourceStore;
  readonly patches: PatchEngines;
  /** What takes long is done in turns with all other such work of the server. */
  readonly turns: Turns;
  /** The first document of a text as JSON. */
  readYaml(text: string): Promise<YamlBody>;
  now(): number;
  /** What to say of a resource that was served once: which one took its place. */
  removedResource?(group: string, version: string, resource: string): string | undefined;
}

/** The patch engines, pure. Each answers the patched object and throws StatusError. */
export interface PatchEngines {
  json(live: JsonObject, patch: unknown, type: string): Steps<JsonObject>;
  merge(live: JsonObject, patch: unknown): JsonObject;
  strategic(live: JsonObject, patch: unknown, type: string): JsonObject;
}

export interface EndpointRequest {
  readonly context: RequestContext;
  readonly declaration: ResourceDeclaration;
  readonly store: ResourceStore;
  readonly deps: EndpointDependencies;
}

export type Endpoint = (request: EndpointRequest) => Promise<ApiResponse> | ApiResponse;

/** Upstream's manager of a client that names none: the first word of its User-Agent, cut at the slash. */
export function fieldManagerOf(context: RequestContext): string {
  const asked = context.query.get('fieldManager');
  if (asked !== null && asked !== '') return asked;
  return context.header('user-agent').split('/', 1)[0]!.slice(0, 128) || 'unknown';
}

export const isDryRun = (context: RequestContext): boolean => context.query.getAll('dryRun').includes('All');

const maxFieldManagerBytes = 128;

const optionsKinds: Readonly<Record<string, string>> = {
  create: 'CreateOptions',
  update: 'UpdateOptions',
  patch: 'PatchOptions',
  delete: 'DeleteOptions',
  deletecollection: 'DeleteOptions',
};

export const applyYaml = 'application/apply-patch+yaml';
const decodingVerbs: readonly string[] = ['create', 'update', 'patch'];
const fieldValidations: readonly string[] = ['', 'Ignore', 'Strict', 'Warn'];

/** Upstream's ValidatePatchOptions: what an apply must say, and no other patch may. */
function patchOptionErrors(context: RequestContext): FieldError[] {
  const { query } = context;
  if (mediaTypeOf(context) !== applyYaml)
    return query.has('force') ? [forbiddenField('force', 'may not be specified for non-apply patch')] : [];
  const named = (query.get('fieldManager') ?? '') !== '';
  return named ? [] : [required('fieldManager', 'is required for apply patch')];
}

/** Who asks for a dry run by another word must not get a real one. */
export const dryRunErrors = (dryRun: readonly string[]): FieldError[] =>
  dryRun.some((value) => value !== 'All') ? [notSupported('dryRun', dryRun, ['All'])] : [];

/** One that is too long is not told of letter by letter: each fault would show all of it. */
function fieldManagerErrors(manager: string): FieldError[] {
  if (Buffer.byteLength(manager) > maxFieldManagerBytes)
    return [tooLong('fieldManager', maxFieldManagerBytes)];
  return [...manager.matchAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu)].map(({ 0: odd, index }) => {
    const point = `U+${odd.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
    const position = Buffer.byteLength(manager.slice(0, index));
    return invalid('fieldManager', manager, `invalid character ${point} (at position ${position})`);
  });
}

/** Throws 422 for values that a dry run or a manager's name can't have: nothing may be written by mistake. */
function checkWriteOptions(context: RequestContext): void {
  const { query, info } = context;
  const errors: FieldError[] = info.verb === 'patch' ? patchOptionErrors(context) : [];
  errors.push(
    ...dryRunErrors(query.getAll('dryRun')),
    ...fieldManagerErrors(query.get('fieldManager') ?? ''),
  );
  const validation = query.get('fieldValidation') ?? '';
  if (decodingVerbs.includes(info.verb) && !fieldValidations.includes(validation))
    errors.push(notSupported('fieldValidation', validation, fieldValidations));
  if (errors.length > 0)
    throw invalidObject(
      { group: 'meta.k8s.io', kind: optionsKinds[info.verb] ?? 'UpdateOptions' },
      '',
      errors,
    );
}

/**
 * An update or an apply that creates must be allowed to create, too. undefined: it may not create at all, as through
 * a subresource.
 */
export function createCheck({ context, deps }: EndpointRequest): (() => Promise<void>) | undefined {
  const { info, user } = context;
  if (info.subresource !== '') return undefined;
  let asked: ReturnType<Authorizer['authorize']> | undefined;
  return async () => {
    asked ??= deps.authorizer.authorize({ ...attributesOf(info, user, noSelectors), verb: 'create' });
    const { decision, reason } = await asked;
    if (decision !== 'allow') throw forbidden(info, info.name, reason);
  };
}

export function writeOptions(context: RequestContext): WriteOptions {
  checkWriteOptions(context);
  return deletionOptions(context, isDryRun(context));
}

/** Of a deletion, which says what it wants in its own way. */
export const deletionOptions = (context: RequestContext, dryRun: boolean): WriteOptions => ({
  context,
  dryRun,
  subresource: context.info.subresource,
  fieldManager: fieldManagerOf(context),
});
