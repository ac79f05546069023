// From a request's info to its endpoint: resources by verb, extra REST storage first, then paths of the server itself.
import type { ResourceDeclaration } from '../apimachinery/declaration.ts';
import { badRequest, methodNotAllowed, notFound, StatusError } from '../apimachinery/errors.ts';
import { createEndpoint } from './endpoints/create.ts';
import { deleteEndpoint } from './endpoints/delete.ts';
import { deleteCollectionEndpoint } from './endpoints/delete-collection.ts';
import type { Endpoint, EndpointDependencies, EndpointRequest } from './endpoints/endpoint.ts';
import { getObject } from './endpoints/get.ts';
import { listObjects } from './endpoints/list.ts';
import { patchEndpoint, patchTypesOf } from './endpoints/patch.ts';
import { serveRest } from './endpoints/rest.ts';
import { updateEndpoint } from './endpoints/update.ts';
import { serveView } from './endpoints/view.ts';
import { watchObjects } from './endpoints/watch.ts';
import type { ApiResponse } from './http.ts';
import { checkConsumed, checkProduced, formsOf, negotiate } from './negotiation.ts';
import { mediaTypeOf } from './registry/decode-body.ts';
import { type RestHandler, restKey } from './registry/rest-storage.ts';
import type { RequestContext } from './request-context.ts';
import { notFoundPage } from './response.ts';

const endpoints: Readonly<Record<string, Endpoint>> = Object.assign(Object.create(null), {
  get: getObject,
  list: listObjects,
  watch: watchObjects,
  create: createEndpoint,
  update: updateEndpoint,
  patch: patchEndpoint,
  delete: deleteEndpoint,
  deletecollection: deleteCollectionEndpoint,
} satisfies Record<string, Endpoint>);

const missingRoute = (): StatusError =>
  new StatusError(404, 'NotFound', 'the server could not find the requested resource', {});

export function routeResource(
  context: RequestContext,
  deps: EndpointDependencies,
): Promise<ApiResponse> | ApiResponse {
  const { info } = context;
  const declaration = deps.scheme.resource(info.group, info.version, info.resource);
  if (declaration === undefined) {
    // Of a group that only definitions make nothing else is known.
    const served = deps.scheme
      .resources()
      .some((d) => d.custom !== true && d.group === info.group && d.version === info.version);
    if (served) throw missingRoute();
    const instead = deps.removedResource?.(info.group, info.version, info.resource);
    if (instead !== undefined) throw new StatusError(404, 'NotFound', instead, {});
    return notFoundPage();
  }
  if (declaration.deprecation !== undefined) context.isDeprecated(declaration.deprecation);
  if (!scopeFits(declaration, context)) {
    if (declaration.custom === true) return notFoundPage();
    throw missingRoute();
  }
  if (info.verb === 'watch' && context.request.method !== 'GET') throw methodNotAllowed();
  const handler = deps.rest.get(restKey(info.group, info.resource, info.subresource));
  const request: EndpointRequest = { context, declaration, store: deps.store(declaration), deps };
  if (info.subresource !== '') return routeSubresource(request, handler);
  const named = info.parts.length > 0;
  const byItem =
    info.verb === 'get' || info.verb === 'update' || info.verb === 'patch' || info.verb === 'delete';
  const answers = declaration.custom === true || declaration.verbs.includes(info.verb);
  if (declaration.custom === true && !named && (info.verb === 'update' || info.verb === 'patch'))
    throw badRequest('name must be provided');
  if (info.verb === 'watch' && !answers && declaration.verbs.includes('list'))
    throw notSupportedVerb(declaration, 'watch');
  if ((byItem !== named && info.verb !== 'watch') || !answers || endpoints[info.verb] === undefined)
    throw methodNotAllowed();
  checkForms(request, handler);
  const own = handler && serveRest(request, handler);
  return own ?? endpoints[info.verb]!(request);
}

/** Nothing may be done of what is sent in a form that nobody reads, or for an answer that the client does not take. */
function checkForms({ context, declaration }: EndpointRequest, handler: RestHandler | undefined): void {
  if (handler?.connect !== undefined) return;
  const { verb, subresource } = context.info;
  if (declaration.custom !== true) {
    if (verb === 'patch') checkConsumed(context, mediaTypeOf(context), patchTypesOf(declaration));
    const listed = verb === 'list' || verb === 'watch';
    checkProduced(context, listed ? 'list' : subresource === 'log' ? 'log' : 'one');
  }
  const untabled = verb === 'create' && handler?.create !== undefined;
  negotiate(context.header('accept'), untabled ? 'untabled' : formsOf(declaration));
}

/** A namespaced kind is named inside a namespace, except when all namespaces are listed; another kind never is. */
function scopeFits(declaration: ResourceDeclaration, { info }: RequestContext): boolean {
  // The path of a namespace itself is in that namespace; `/namespaces/a/namespaces/b` is nowhere.
  if (!declaration.namespaced) {
    const itself = declaration.resource === 'namespaces' && info.parts[0] === info.namespace;
    return info.namespace === '' || itself;
  }
  if (info.namespace !== '') return true;
  return info.parts.length === 0 && (info.verb === 'list' || info.verb === 'watch' || declaration.virtual);
}

/**
 * As upstream's handler of all custom resources says it, which has one route for every method, and that of lists, which
 * is the one of watches too.
 */
const notSupportedVerb = ({ group, resource }: ResourceDeclaration, verb: string): StatusError =>
  new StatusError(
    405,
    'MethodNotAllowed',
    `${verb} is not supported on resources of kind ${JSON.stringify(group === '' ? resource : `${resource}.${group}`)}`,
    { group, kind: resource },
  );

function routeSubresource(
  request: EndpointRequest,
  handler: RestHandler | undefined,
): Promise<ApiResponse> | ApiResponse {
  const { context, declaration } = request;
  const { info } = context;
  const declared = declaration.subresources.find((s) => s.name === info.subresource);
  // What follows a proxy's name is the backend's path; no other subresource has anything behind it, or is watched.
  const trailing = info.parts.length > 2 && info.subresource !== 'proxy';
  const { custom } = declaration;
  if (custom === true && declared === undefined) throw notFound(declaration, info.name);
  if (declared === undefined || trailing || info.verb === 'watch') throw missingRoute();
  if (!declared.verbs.includes(info.verb))
    throw custom === true ? notSupportedVerb(declaration, info.verb) : methodNotAllowed();
  checkForms(request, handler);
  const own = handler && serveRest(request, handler);
  if (own) return own;
  if (handler?.view) return serveView(request, handler.view, declared);
  const same = declared.kind.kind === declaration.kind;
  if (!same) throw methodNotAllowed();
  return endpoints[info.verb]!(request);
}
