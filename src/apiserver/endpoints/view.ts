// A subresource that shows part of its parent in another kind (scale): get, update, patch and apply.
import type { JsonObject, SubresourceDeclaration } from '../../apimachinery/declaration.ts';
import { unsupportedMediaType } from '../../apimachinery/errors.ts';
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
import {
  assertAppliedKind,
  namedAsPath,
  noObject,
  parsePatch,
  patchTypesOf,
  strictProblems,
  tellRepeated,
} from './patch.ts';
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
    const parent = decodeEntry(value);
    view.check?.(parent);
    return respond(view.get(parent));
  }
  const options = writeOptions(context);
  const change =
    verb === 'update' ? await sentView(request, target, view) : await patchedView(request, target, view);
  const outcome = await store.update(namespace, name, (parent) => change(parent!), {
    ...options,
    // Who owns what is worked out on the view.
    fieldManager: '',
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
    return updatedParent(request, { target, view }, parent, copyJson(object));
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
    const next = decoded(await patchedObject(request, live, { type, patch, of: target.type }));
    return updatedParent(request, { target, view }, parent, next);
  };
}

interface ViewedAs {
  readonly target: DecodeTarget;
  readonly view: SubresourceView;
}

interface AppliedView extends ViewedAs {
  readonly patch: unknown;
  decoded(result: JsonObject): JsonObject;
}

/** Of the view as it is now: what owners are told, and what makes the parent of what they make of it. */
function ownership(request: EndpointRequest, { target, view }: ViewedAs, parent: JsonObject) {
  const { context, deps } = request;
  const paths: ReplicasPath = (apiVersion) => view.replicasPath(parent, apiVersion);
  const { managedFields } = meta(parent);
  const shown = view.get(parent);
  const { group, version, kind, type } = target;
  return {
    asked: {
      declaration: { group, version, kind, type, hasStatus: false },
      live: { ...shown, metadata: { ...meta(shown), managedFields: scaleEntries(managedFields, paths) } },
      manager: fieldManagerOf(context),
      subresource: context.info.subresource,
      now: rfc3339(deps.now()),
    },
    parentOf(result: JsonObject): JsonObject {
      const changed = changedParent(request, view, parent, result);
      const entries = parentEntries(managedFields, paths, {
        entries: meta(result)['managedFields'],
        apiVersion: str(parent['apiVersion']),
      });
      return { ...changed, metadata: { ...meta(changed), managedFields: entries } };
    },
  };
}

/** Upstream's ScaleHandler: the update is one of the view, with the owners of the one field that the view can change. */
function updatedParent(
  request: EndpointRequest,
  viewed: ViewedAs,
  parent: JsonObject,
  next: JsonObject,
): JsonObject {
  const { fields } = request.deps;
  if (fields === undefined) return changedParent(request, viewed.view, parent, next);
  const { asked, parentOf } = ownership(request, viewed, parent);
  return parentOf(atOnce(fields.update({ ...asked, object: next })));
}

/** The same of an apply. */
function appliedParent(
  request: EndpointRequest,
  { patch, decoded, ...viewed }: AppliedView,
  parent: JsonObject,
): JsonObject {
  const { context, deps } = request;
  if (!isObject(patch)) throw noObject(patch);
  if (deps.fields === undefined) throw unsupportedMediaType([]);
  const copy = assertAppliedKind(copyJson(patch), viewed.target);
  const { asked, parentOf } = ownership(request, viewed, parent);
  const force = queryBoolean(context.query, 'force') ?? false;
  const applied = deps.fields.apply({ ...asked, live: copyJson(asked.live), patch: copy, force });
  return parentOf(decoded(namedAsPath(atOnce(applied), context.info)));
}
