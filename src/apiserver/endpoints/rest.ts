// Serves what kinds plugged in: decodes and admits the body, calls the handler, encodes its answer.
import type { JsonObject, SubresourceDeclaration } from '../../apimachinery/declaration.ts';
import { badRequest } from '../../apimachinery/errors.ts';
import { meta, objs, str } from '../../apimachinery/json-access.ts';
import type { ApiResponse } from '../http.ts';
import { checkNamespace } from '../registry/create-object.ts';
import { type DecodeTarget, readObject, targetOf } from '../registry/decode-body.ts';
import { indexRecord } from '../registry/index-record.ts';
import { ensureMeta } from '../registry/object-meta.ts';
import {
  isWholeResponse,
  type RestAnswer,
  type RestHandler,
  type RestRequest,
} from '../registry/rest-storage.ts';
import type { ResourceStore } from '../registry/store.ts';
import { admissionRequest } from '../registry/write-rules.ts';
import { type EndpointRequest, isDryRun, writeOptions } from './endpoint.ts';
import { readListOptions } from './list-options.ts';
import { respondObject, respondRest } from './object-response.ts';

type Verb = 'create' | 'get' | 'list' | 'update' | 'delete' | 'connect';

/** undefined: the handler leaves this verb to the generic registry. */
export function serveRest(request: EndpointRequest, handler: RestHandler): Promise<ApiResponse> | undefined {
  const { verb } = request.context.info;
  if (handler.connect) return connect(request, handler);
  if (verb !== 'create' && verb !== 'get' && verb !== 'list' && verb !== 'update' && verb !== 'delete')
    return undefined;
  const serve = handler[verb];
  return serve && answer(request, verb, serve, handler);
}

function restRequest(
  { context, declaration, deps }: EndpointRequest,
  object: JsonObject | undefined,
  options: JsonObject = {},
): RestRequest {
  return {
    context,
    declaration,
    namespace: declaration.namespaced ? context.info.namespace : '',
    name: context.info.name,
    subresource: context.info.subresource,
    object,
    options,
    dryRun: isDryRun(context),
    clock: deps.clock,
    store: (group, resource): ResourceStore => {
      const found = deps.scheme.resources().find((d) => d.group === group && d.resource === resource);
      if (!found) throw new Error(`${group}/${resource} is not served`);
      return deps.store(found);
    },
  };
}

/** The kind of a subresource's body; the declaration's own when it is the parent. */
function bodyTarget(request: EndpointRequest): DecodeTarget {
  const { declaration, context, deps } = request;
  const sub = declaration.subresources.find((s) => s.name === context.info.subresource);
  if (!sub || sub.kind.kind === declaration.kind) return targetOf(declaration);
  return subresourceTarget(request, sub, deps.scheme.typeOf(sub.kind));
}

export function subresourceTarget(
  { deps }: EndpointRequest,
  sub: SubresourceDeclaration,
  type: string | undefined,
): DecodeTarget {
  if (type === undefined) throw new Error(`no type for ${sub.kind.kind}`);
  const known = deps.scheme.kind(sub.kind);
  return { ...sub.kind, type, applyDefaults: known?.strategy.applyDefaults };
}

async function answer(
  request: EndpointRequest,
  verb: Verb,
  serve: NonNullable<RestHandler['create']>,
  { bodyVersions: otherVersions, complete }: RestHandler,
): Promise<ApiResponse> {
  const { context, store, deps } = request;
  let object: JsonObject | undefined;
  if (verb === 'create' || verb === 'update') {
    object = await readObject(context, { ...bodyTarget(request), otherVersions }, deps);
    // What admission judges is what the request is about, whatever the body says.
    if (verb === 'create') checkNamespace(request.declaration, context.info.namespace, ensureMeta(object));
    object = await admitted(request, store, verb, object, complete);
    context.checkTime();
  }
  const answered = await serve(restRequest(request, object));
  if (verb === 'list' && !isWholeResponse(answered))
    return respondRest(
      context,
      answered.status,
      selected(request, answered.object),
      request.declaration,
      deps,
    );
  if (isWholeResponse(answered) || context.info.subresource !== '' || verb !== 'get')
    return encode(request, answered);
  return respondRest(context, answered.status, answered.object, request.declaration, deps);
}

/** Selectors and the name that was authorized hold for lists that a handler makes, too. */
function selected({ context, declaration }: EndpointRequest, list: JsonObject): JsonObject {
  const { matches } = readListOptions(context.query, declaration, 'list', context.info.name);
  if (matches === undefined) return list;
  return { ...list, items: objs(list['items']).filter((item) => matches(indexRecord(declaration, item))) };
}

async function admitted(
  request: EndpointRequest,
  store: ResourceStore,
  verb: 'create' | 'update',
  object: JsonObject,
  complete: RestHandler['complete'],
): Promise<JsonObject> {
  const { context, declaration } = request;
  const completed = (made: JsonObject): JsonObject =>
    verb === 'create' && complete !== undefined
      ? complete({ ...restRequest(request, undefined), object: made })
      : made;
  const admission = admissionRequest(
    store,
    {
      operation: verb === 'create' ? 'CREATE' : 'UPDATE',
      namespace: declaration.namespaced ? context.info.namespace : '',
      name: context.info.name || str(meta(object)['name']),
      object,
      oldObject:
        verb === 'update'
          ? store.find(declaration.namespaced ? context.info.namespace : '', context.info.name)
          : undefined,
    },
    writeOptions(context),
  );
  if (!admission) return completed(object);
  await store.deps.admission.admit(admission);
  const judged = completed(admission.object ?? object);
  admission.object = judged;
  await store.deps.admission.validate(admission);
  return judged;
}

async function connect(request: EndpointRequest, handler: RestHandler): Promise<ApiResponse> {
  const { context, store, declaration } = request;
  if (context.query.has('dryRun')) throw badRequest('dryRun is not supported');
  const options = handler.connectOptions?.(context) ?? {};
  const admission = admissionRequest(
    store,
    {
      operation: 'CONNECT',
      namespace: declaration.namespaced ? context.info.namespace : '',
      name: context.info.name,
      object: options,
      oldObject: undefined,
    },
    writeOptions(context),
  );
  if (admission) {
    await store.deps.admission.admit(admission);
    await store.deps.admission.validate(admission);
  }
  return encode(
    request,
    await handler.connect!(restRequest(request, undefined, admission?.object ?? options)),
  );
}

function encode({ context, deps }: EndpointRequest, answer: RestAnswer): ApiResponse {
  if (isWholeResponse(answer)) return answer;
  return respondObject(context, answer.status, answer.object, deps);
}
