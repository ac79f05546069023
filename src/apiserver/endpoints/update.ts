// PUT of a whole object, or of its status.
import type { ApiResponse } from '../http.ts';
import { readObject, targetOf } from '../registry/decode-body.ts';
import { type EndpointRequest, writeOptions } from './endpoint.ts';
import { respondStored } from './object-response.ts';

export async function updateEndpoint(request: EndpointRequest): Promise<ApiResponse> {
  const { context, declaration, store, deps } = request;
  const object = await readObject(context, deps.scheme, targetOf(declaration), deps.protobuf);
  const { namespace, name } = context.info;
  const text = JSON.stringify(object);
  let fresh: typeof object | undefined = object;
  const outcome = await store.update(
    declaration.namespaced ? namespace : '',
    name,
    () => {
      // A second attempt must not see what the first one prepared.
      const given = fresh ?? (JSON.parse(text) as typeof object);
      fresh = undefined;
      return given;
    },
    { ...writeOptions(context), mayCreate: context.info.subresource === '', patch: false },
  );
  return respondStored(context, outcome.created ? 201 : 200, outcome.value, declaration, deps);
}
