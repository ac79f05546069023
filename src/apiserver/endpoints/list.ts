// GET of a collection: selectors on index records, pages, revisions; the items are the stored bytes.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { badRequest, StatusError } from '../../apimachinery/errors.ts';
import { CompactedError } from '../../storage/storage.ts';
import type { CacheList, CacheListOptions } from '../../storage/watch/resource-cache.ts';
import type { ApiResponse } from '../http.ts';
import { decodeContinue, encodeContinue } from './continue-token.ts';
import type { EndpointRequest } from './endpoint.ts';
import { atLeast, type ListOptions, parseRevision, readListOptions } from './list-options.ts';
import { respondList } from './object-response.ts';

export async function listObjects(request: EndpointRequest): Promise<ApiResponse> {
  const { context, declaration, store, deps } = request;
  const options = readListOptions(context.query, declaration, 'list', context.info.name);
  const list = await readServed(request, options);
  const metadata: JsonObject = { resourceVersion: String(list.revision) };
  if (list.next) {
    metadata['continue'] = encodeContinue(list.next.revision, relativeKey(request, list.next.key));
    if (options.matches === undefined && list.next.remaining !== undefined)
      metadata['remainingItemCount'] = list.next.remaining;
  }
  const values = list.items.map((item) => item.value);
  return respondList(
    context,
    { metadata, values, ...(store.convertsSome(values) ? { decode: (value) => store.served(value) } : {}) },
    declaration,
    deps,
  );
}

/** As `readList`, of a kind whose versions only a webhook can tell in the version that is asked for. */
export async function readServed(request: EndpointRequest, options: ListOptions): Promise<CacheList> {
  const { remote } = request.store;
  if (remote === undefined) return readList(request, options);
  const { matches } = options;
  // Selectors are of the version that is asked for: until it is there, nobody can say how many match.
  const unselected = { ...options, matches: undefined, exactField: undefined, limit: 0 };
  const list = await readList(request, matches === undefined ? options : unselected);
  const items = await remote.items(list.items);
  return { ...list, items: matches === undefined ? items : items.filter(({ index }) => matches(index)) };
}

/** What the request is for, in the cache's words. */
export function scopeOf(
  { context, declaration }: EndpointRequest,
  { name, matches, exactField }: ListOptions,
): Pick<CacheListOptions, 'namespace' | 'name' | 'matches' | 'exactField'> {
  const namespace = declaration.namespaced ? context.info.namespace : '';
  const isOne = name !== '' && (namespace !== '' || !declaration.namespaced);
  return { namespace, name: isOne ? name : undefined, matches, exactField };
}

/** The cache's list for these options, waiting for a revision that is asked for. */
async function readList(request: EndpointRequest, options: ListOptions): Promise<CacheList> {
  const { store } = request;
  const token = options.continueToken === '' ? undefined : decodeContinue(options.continueToken);
  if (token !== undefined && !['', '0'].includes(options.resourceVersion))
    throw badRequest('specifying resource version is not allowed when using continue');
  const revision = parseRevision(options.resourceVersion);
  if (token === undefined) await atLeast(store.cache, options.resourceVersion);
  const exact =
    options.resourceVersionMatch === 'Exact' ||
    (revision > 0 && options.limit > 0 && options.resourceVersionMatch === '');
  const base = {
    ...scopeOf(request, options),
    // As upstream's cache, of which no pages are asked for when whatever is there will do.
    limit: token === undefined && options.resourceVersion === '0' ? 0 : options.limit,
    exactRevision: exact ? revision : undefined,
  };
  if (token === undefined) {
    try {
      return store.cache.list(base);
    } catch (error) {
      if (error instanceof CompactedError)
        throw new StatusError(410, 'Expired', 'The resourceVersion for the provided list is too old.');
      throw error;
    }
  }
  await atLeast(store.cache, token.revision < 0 ? '' : String(token.revision));
  const after = {
    key: absoluteKey(request, token.start),
    revision: token.revision < 0 ? store.cache.currentRevision() : token.revision,
  };
  try {
    return store.cache.list({ ...base, after });
  } catch (error) {
    if (error instanceof CompactedError) throw expiredContinue(token.start);
    throw error;
  }
}

/** 410 with a token that goes on at the newest state, as upstream. */
function expiredContinue(start: string): StatusError {
  const error = new StatusError(
    410,
    'Expired',
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
  );
  const status = error.status as unknown as { metadata: Record<string, string> };
  status.metadata = { continue: encodeContinue(-1, start) };
  return error;
}

/** Tokens name `namespace/name`, or `name` when one namespace or a cluster-wide kind is listed. */
function prefixOf({ declaration, context }: EndpointRequest): string {
  const { group, resource } = declaration.storage;
  const base = `/registry/${group === '' ? 'core' : group}/${resource}/`;
  return declaration.namespaced && context.info.namespace !== '' ? `${base}${context.info.namespace}/` : base;
}
const relativeKey = (request: EndpointRequest, key: string): string => {
  const prefix = prefixOf(request);
  return key.startsWith(prefix) ? key.slice(prefix.length) : key;
};
const absoluteKey = (request: EndpointRequest, start: string): string => prefixOf(request) + start;
