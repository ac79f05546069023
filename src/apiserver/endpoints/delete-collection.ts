// DELETE of a collection: each object that the selectors match is deleted by the rules of one.
import { isStatusError } from '../../apimachinery/errors.ts';
import { fewAtOnce } from '../../base/few-at-once.ts';
import type { ApiResponse } from '../http.ts';
import { readDeleteOptions } from './delete.ts';
import { deletionOptions, type EndpointRequest } from './endpoint.ts';
import { readServed } from './list.ts';
import { readListOptions } from './list-options.ts';
import { respondList } from './object-response.ts';

/** Deletions that are under way at once: they share one commit of the store. */
const together = 32;

export async function deleteCollectionEndpoint(request: EndpointRequest): Promise<ApiResponse> {
  const { context, declaration, store, deps } = request;
  const options = await readDeleteOptions(request);
  const list = await readServed(
    request,
    readListOptions(context.query, declaration, 'list', context.info.name),
  );
  const write = deletionOptions(context, options.dryRun);
  await fewAtOnce(list.items, together, async ({ index }) => {
    try {
      await store.delete(index.namespace, index.name, options, write);
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error;
    }
  });
  const values = list.items.map((item) => item.value);
  return respondList(
    context,
    {
      metadata: { resourceVersion: String(list.revision) },
      values,
      ...(store.convertsSome(values) ? { decode: (value) => store.served(value) } : {}),
    },
    declaration,
    deps,
  );
}
