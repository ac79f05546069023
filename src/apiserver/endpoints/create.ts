// POST of a new object.
import type { ApiResponse } from '../http.ts';
import { readObject, targetOf } from '../registry/decode-body.ts';
import { type EndpointRequest, writeOptions } from './endpoint.ts';
import { respondStored } from './object-response.ts';

export async function createEndpoint(request: EndpointRequest): Promise<ApiResponse> {
  const { context, declaration, store, deps } = request;
  const options = writeOptions(context);
  const object = await readObject(context, targetOf(declaration), deps);
  const namespace = declaration.namespaced ? context.info.namespace : '';
  const stored = await store.create(namespace, object, options);
  return respondStored(context, 201, stored.value, declaration, deps);
}
