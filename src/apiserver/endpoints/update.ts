// PUT of a whole object, or of its status.
import { readJson } from '../../apimachinery/serializer/json-numbers.ts';
import type { ApiResponse } from '../http.ts';
import { readObject, targetOf } from '../registry/decode-body.ts';
import { createCheck, type EndpointRequest, writeOptions } from './endpoint.ts';
import { respondStored } from './object-response.ts';

export async function updateEndpoint(request: EndpointRequest): Promise<ApiResponse> {
  const { context, declaration, store, deps } = request;
  const object = await readObject(context, targetOf(declaration), deps);
  const { namespace, name } = context.info;
  const text = JSON.stringify(object);
  let fresh: typeof object | undefined = object;
  const outcome = await store.update(
    declaration.namespaced ? namespace : '',
    name,
    () => {
      // A second attempt must not see what the first one prepared.
      const given = fresh ?? (readJson(text) as typeof object);
      fresh = undefined;
      return given;
    },
    { ...writeOptions(context), authorizeCreate: createCheck(request), patch: false },
  );
  return respondStored(context, outcome.created ? 201 : 200, outcome.value, declaration, deps);
}
