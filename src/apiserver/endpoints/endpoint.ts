// What every endpoint is given: the request, the kind that is asked for and its registry.
import type { JsonObject, ResourceDeclaration, Scheme } from '../../apimachinery/declaration.ts';
import { forbidden, invalidObject } from '../../apimachinery/errors.ts';
import { type FieldError, invalid, notSupported, tooLong } from '../../apimachinery/field-error.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Steps, Turns } from '../../base/turns.ts';
import { attributesOf } from '../authorization/attributes.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { ApiResponse } from '../http.ts';
import type { ProtobufCodec } from '../registry/decode-body.ts';
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
  readYaml(text: string): Promise<string>;
  now(): number;
  /** What to say of a resource that was served once: which one took its place. */
  removedResource?(group: string, version: string, resource: string): string | undefined;
}

/** The patch engines, pure. Each answers the patched object and throws StatusError. */
export interface PatchEngines {
  json(live: JsonObject, patch: unknown): Steps<JsonObject>;
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

/** Throws 422 for values that a dry run or a manager's name can't have: nothing may be written by mistake. */
function checkWriteOptions({ query, info }: RequestContext): void {
  const errors: FieldError[] = [];
  const dryRun = query.getAll('dryRun');
  if (dryRun.some((value) => value !== 'All')) errors.push(notSupported('dryRun', dryRun, ['All']));
  const manager = query.get('fieldManager') ?? '';
  if (Buffer.byteLength(manager) > maxFieldManagerBytes)
    errors.push(tooLong('fieldManager', maxFieldManagerBytes));
  const odd = [...manager].findIndex((c) => !/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(c));
  if (odd >= 0) errors.push(invalid('fieldManager', manager, 'should only contain printable characters'));
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
    asked ??= deps.authorizer.authorize({ ...attributesOf(info, user, null), verb: 'create' });
    const { decision, reason } = await asked;
    if (decision !== 'allow') throw forbidden(info, info.name, reason);
  };
}

export function writeOptions(context: RequestContext): WriteOptions {
  checkWriteOptions(context);
  return {
    context,
    dryRun: isDryRun(context),
    subresource: context.info.subresource,
    fieldManager: fieldManagerOf(context),
  };
}
