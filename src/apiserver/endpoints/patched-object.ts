// An object with a patch of one of the three kinds that are no apply, and within its bounds afterwards.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { isObject } from '../../apimachinery/json-access.ts';
import { assertBounded, boundsOf } from '../../apimachinery/object-bounds.ts';
import { atOnce, inTurns } from '../../base/turns.ts';
import type { EndpointRequest } from './endpoint.ts';

export const jsonPatch = 'application/json-patch+json';
export const mergePatch = 'application/merge-patch+json';
export const strategicPatch = 'application/strategic-merge-patch+json';

/** `live` is not changed. Throws StatusError. */
export async function patchedObject(
  { context, declaration, deps }: Pick<EndpointRequest, 'context' | 'declaration' | 'deps'>,
  live: JsonObject,
  { type, patch, of }: { readonly type: string; readonly patch: unknown; readonly of: string },
): Promise<JsonObject> {
  const { patches, turns } = deps;
  const bounds = boundsOf(declaration.kind);
  if (context.heavy && isObject(patch)) assertBounded(patch, bounds);
  let result: JsonObject;
  if (type === jsonPatch) {
    const steps = patches.json(live, patch, of);
    result = context.heavy ? await inTurns(steps, turns) : atOnce(steps);
  } else if (type === mergePatch) result = patches.merge(live, patch);
  // As upstream, which makes of the result what the object is in any case.
  else
    result = { ...patches.strategic(live, patch, of), kind: live['kind']!, apiVersion: live['apiVersion']! };
  if (context.heavy) await turns.take();
  // A few bytes of a JSON patch can copy much, and every patch adds to what others have added.
  if (context.heavy || type === jsonPatch) assertBounded(result, bounds);
  if (context.heavy) await turns.take();
  return result;
}
