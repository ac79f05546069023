// A subresource that shows part of its parent in another kind (scale): get, update, patch and apply.
import type { JsonObject, SubresourceDeclaration } from '../../apimachinery/declaration.ts';
import { badRequest, unsupportedMediaType } from '../../apimachinery/errors.ts';
import {
  parentEntries,
  type ReplicasPath,
  scaleEntries,
} from '../../apimachinery/fieldmanager/scale-fields.ts';
import { copyJson, isObject, meta, str } from '../../apimachinery/json-access.ts';
import { rfc3339 } from '../../base/clock.ts';
import { atOnce } from '../../base/turns.ts';
import type { ApiResponse } from '../http.ts';
import { formsOf } from '../negotiation.ts';
import { queryBoolean } from '../query.ts';
import {
  type DecodeTarget,
  decodeParsed,
  fieldValidationOf,
  maxBodyBytes,
  mediaTypeOf,
  readObject,
} from '../registry/decode-body.ts';
import { decodeEntry } from '../registry/encode.ts';
import { ensureMeta } from '../registry/object-meta.ts';
import { checkStoragePreconditions } from '../registry/storage-preconditions.ts';
import type { SubresourceView } from '../registry/stored-resource.ts';
import { checkIdentity } from '../registry/update-object.ts';
import { applyYaml, type EndpointRequest, fieldManagerOf, writeOptions } from './endpoint.ts';
import { respondObject } from './object-response.ts';
import { assertAppliedKind, parsePatch, patchTypesOf, strictProblems, tellRepeated } from './patch.ts';
import { patchedObject } from './patched-object.ts';
import { subresourceTarget } from './rest.ts';

/** The parent as it is to be, of the one that is there. */
type Change = (parent: JsonObject) => JsonObject | Promise<JsonObject>;

export async function serveView(
  request: EndpointRequest,
  view: SubresourceView,
  declared: SubresourceDeclaration,
): Promise<ApiResponse> {
  const { context, declaration, store, deps } = request;
  const namespace = declaration.namespaced ? context.info.namespace : '';
  const { name, verb, subresource } = context.info;
  const target = subresourceTarget(request, declared, deps.scheme.typeOf(declared.kind));
  const respond = (object: JsonObject): ApiResponse =>
    respondObject(context, 200, object, deps, {
      endpoint: formsOf(declaration),
      ...(view.table === undefined ? {} : { table: view.table }),
    });
  if (verb === 'get') {
    const value = await store.servedBytes(store.cached(namespace, name).value);
    return respond(view.get(decodeEntry(value)));
  }
  const options = writeOptions(context);
  const applies = verb === 'patch' && mediaTypeOf(context) === applyYaml;
  const change =
    verb === 'update' ? await sentView(request, target, view) : await patchedView(request, target, view);
  const outcome = await store.update(namespace, name, (parent) => change(parent!), {
    ...options,
    // What an apply owns is worked out on the view.
    fieldManager: applies ? '' : options.fieldManager,
    subresource,
    view,
  });
  return respond(view.get(decodeEntry(outcome.value)));
}

/** The parent with what `next` says, of the revision that it names. */
function changedParent(
  { context, store }: EndpointRequest,
  view: SubresourceView,
  parent: JsonObject,
  next: JsonObject,
): JsonObject {
  checkIdentity(store, context.info, ensureMeta(next));
  const revision = str(meta(next)['resourceVersion']);
  const applied = view.apply(parent, next);
  const metadata = { ...meta(applied) };
  if (revision !== '') metadata['resourceVersion'] = revision;
  return { ...applied, metadata };
}

async function sentView(
  request: EndpointRequest,
  target: DecodeTarget,
  view: SubresourceView,
): Promise<Change> {
  const { context, declaration, deps, store } = request;
  const object = await readObject(context, target, deps);
  const { name } = context.info;
  const namespace = declaration.namespaced ? context.info.namespace : '';
  checkIdentity(store, { namespace, name }, ensureMeta(object));
  const { uid } = meta(object);
  return (parent) => {
    checkStoragePreconditions({ declaration, namespace, name }, meta(parent), { uid });
    return changedParent(request, view, parent, copyJson(object));
  };
}

async function patchedView(
  request: EndpointRequest,
  target: DecodeTarget,
  view: SubresourceView,
): Promise<Change> {
  const { context, declaration, deps } = request;
  const type = mediaTypeOf(context);
  const known = patchTypesOf(declaration);
  if (!known.includes(type)) throw unsupportedMediaType(known);
  const sent = await parsePatch(type, await context.readBody(maxBodyBytes), request);
  const { value: patch, json } = sent;
  context.audit?.requestPatch(json);
  const decoded = (result: JsonObject): JsonObject =>
    decodeParsed(
      result,
      deps.scheme,
      target,
      { validation: fieldValidationOf(context), warn: (text) => context.warn(text) },
      type === applyYaml ? undefined : strictProblems(sent),
    );
  if (type === applyYaml) {
    tellRepeated(request, sent);
    return (parent) => appliedParent(request, { target, view, patch, decoded }, parent);
  }
  return async (parent) => {
    const live = copyJson(view.get(parent));
    return changedParent(
      request,
      view,
      parent,
      decoded(await patchedObject(request, live, { type, patch, of: target.type })),
    );
  };
}

interface AppliedView {
  readonly target: DecodeTarget;
  readonly view: SubresourceView;
  readonly patch: unknown;
  decoded(result: JsonObject): JsonObject;
}

/** Upstream's ScaleHandler: the apply is one of the view, with the owners of the one field that the view can change. */
function appliedParent(
  request: EndpointRequest,
  { target, view, patch, decoded }: AppliedView,
  parent: JsonObject,
): JsonObject {
  const { context, deps } = request;
  if (!isObject(patch)) throw badRequest('error decoding YAML: the patch is not an object');
  if (deps.fields === undefined) throw unsupportedMediaType([]);
  const copy = assertAppliedKind(copyJson(patch), target, context.info);
  const paths: ReplicasPath = (apiVersion) => view.replicasPath(parent, apiVersion);
  const { managedFields } = meta(parent);
  const shown = view.get(parent);
  const live = { ...shown, metadata: { ...meta(shown), managedFields: scaleEntries(managedFields, paths) } };
  const { subresource } = context.info;
  const result = decoded(
    atOnce(
      deps.fields.apply({
        declaration: {
          group: target.group,
          version: target.version,
          kind: target.kind,
          type: target.type,
          hasStatus: false,
        },
        live: copyJson(live),
        patch: copy,
        manager: fieldManagerOf(context),
        force: queryBoolean(context.query, 'force') ?? false,
        subresource,
        now: rfc3339(deps.now()),
      }),
    ),
  );
  const changed = changedParent(request, view, parent, result);
  const entries = parentEntries(managedFields, paths, {
    entries: meta(result)['managedFields'],
    apiVersion: str(parent['apiVersion']),
  });
  return { ...changed, metadata: { ...meta(changed), managedFields: entries } };
}
