// GET of one object: the stored bytes, neither parsed nor written anew.
import { badRequest } from '../../apimachinery/errors.ts';
import type { ApiResponse } from '../http.ts';
import { queryBoolean } from '../query.ts';
import type { EndpointRequest } from './endpoint.ts';
import { atLeast } from './list-options.ts';
import { respondStored } from './object-response.ts';

export function getObject(request: EndpointRequest): Promise<ApiResponse> | ApiResponse {
  const { context, store } = request;
  if (context.request.url.includes('export=')) refuseExport(queryBoolean(context.query, 'export'));
  const asked = context.request.url.includes('resourceVersion=')
    ? (context.query.get('resourceVersion') ?? '')
    : '';
  const waiting = atLeast(store.cache, asked);
  return waiting === undefined ? respond(request) : waiting.then(() => respond(request));
}

function refuseExport(asked: boolean | undefined): void {
  if (asked === true)
    throw badRequest('the export parameter, deprecated since v1.14, is no longer supported');
}

function respond({ context, declaration, store, deps }: EndpointRequest): Promise<ApiResponse> | ApiResponse {
  const { namespace, name } = context.info;
  const found = store.cached(declaration.namespaced ? namespace : '', name);
  const value = store.servedBytes(found.value);
  return Buffer.isBuffer(value)
    ? respondStored(context, 200, value, declaration, deps)
    : value.then((bytes) => respondStored(context, 200, bytes, declaration, deps));
}
