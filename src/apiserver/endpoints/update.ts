// PUT of a whole object, or of its status.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import type { ApiResponse } from '../http.ts';
import { decodeBody, maxBodyBytes, targetOf } from '../registry/decode-body.ts';
import { ensureMeta } from '../registry/object-meta.ts';
import { checkIdentity } from '../registry/update-object.ts';
import { createCheck, type EndpointRequest, writeOptions } from './endpoint.ts';
import { respondStored } from './object-response.ts';

export async function updateEndpoint(request: EndpointRequest): Promise<ApiResponse> {
  const { context, declaration, store, deps } = request;
  const body = await context.readBody(maxBodyBytes);
  const read = (): Promise<JsonObject> => decodeBody(context, body, targetOf(declaration), deps);
  let fresh: JsonObject | undefined = await read();
  const { name } = context.info;
  const namespace = declaration.namespaced ? context.info.namespace : '';
  checkIdentity(store, { namespace, name }, ensureMeta(fresh));
  const outcome = await store.update(
    namespace,
    name,
    () => {
      // A second attempt must not see what the first one prepared.
      const given = fresh;
      fresh = undefined;
      return given ?? read();
    },
    { ...writeOptions(context), authorizeCreate: createCheck(request), replaces: true },
  );
  return respondStored(context, outcome.created ? 201 : 200, outcome.value, declaration, deps);
}
