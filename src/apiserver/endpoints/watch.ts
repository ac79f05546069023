// GET of a collection with watch=true: where the stream begins, what comes first, and when it ends.
import { notAcceptable } from '../../apimachinery/errors.ts';
import { includeObjectFrom } from '../../apimachinery/table.ts';
import { CompactedError } from '../../storage/storage.ts';
import type { CachedObject, WatchCursor } from '../../storage/watch/resource-cache.ts';
import { isWebSocketRequest } from '../../wire/websocket.ts';
import type { ApiResponse, PullBody } from '../http.ts';
import { watchByWebSocket } from '../streaming/websocket-stream.ts';
import type { EndpointRequest } from './endpoint.ts';
import { scopeOf } from './list.ts';
import { atLeast, type ListOptions, parseRevision, readListOptions } from './list-options.ts';
import { contentTypes, negotiate } from './negotiation.ts';
import { errorFrame, SingleFrame, WatchBody } from './watch-body.ts';
import { type FrameFormat, frameKeysOf } from './watch-frames.ts';

/** As upstream's min-request-timeout: a watch lasts half an hour to an hour unless it asks for less. */
const minTimeoutSeconds = 1800;

export async function watchObjects(request: EndpointRequest): Promise<ApiResponse> {
  const { context, declaration, store, deps } = request;
  const options = readListOptions(context.query, declaration, 'watch', context.info.name);
  const negotiated = negotiate(context.header('accept'));
  if (negotiated.mediaType === 'yaml')
    throw notAcceptable([
      'application/json;stream=watch',
      'application/vnd.kubernetes.protobuf;stream=watch',
    ]);
  const format: FrameFormat = {
    frameKeys: frameKeysOf(negotiated, declaration),
    negotiated,
    declaration,
    includeObject: includeObjectFrom(context.query.get('includeObject')),
    protobuf: deps.protobuf,
    convert: (value) => store.servedBytes(value),
    now: deps.now,
  };
  const asked = parseRevision(options.resourceVersion);
  try {
    await atLeast(store.cache, options.resourceVersion);
  } catch (error) {
    // Upstream, too, gives a watch from the future the benefit of the doubt and waits.
    if (asked === 0 || options.sendInitialEvents === true) throw error;
  }
  const body = openBody(request, options, asked, format);
  if (isWebSocketRequest(context.request))
    return watchByWebSocket(context.request, body, negotiated.mediaType);
  const contentType =
    negotiated.mediaType === 'protobuf'
      ? `${contentTypes.protobuf};stream=watch`
      : contentTypes[negotiated.mediaType];
  return {
    status: 200,
    headers: { 'cache-control': 'no-cache, private', 'content-type': contentType },
    body,
  };
}

function openBody(
  request: EndpointRequest,
  options: ListOptions,
  asked: number,
  format: FrameFormat,
): PullBody {
  const { store, deps } = request;
  const scope = scopeOf(request, options);
  const wantsInitial = options.sendInitialEvents ?? asked === 0;
  let initial: readonly CachedObject[] = [];
  let from = asked;
  let cursor: WatchCursor;
  try {
    if (wantsInitial) {
      const list = store.cache.list({ ...scope, limit: 0 });
      initial = list.items;
      from = list.revision;
    } else if (asked === 0) from = store.cache.currentRevision();
    cursor = store.cache.watch(from, scope.namespace);
  } catch (error) {
    if (error instanceof CompactedError) return new SingleFrame(errorFrame(format, error));
    throw error;
  }
  const seconds =
    options.timeoutSeconds !== undefined && options.timeoutSeconds > 0
      ? options.timeoutSeconds
      : Math.floor(minTimeoutSeconds * (1 + deps.random.fraction()));
  return new WatchBody({
    clock: deps.clock,
    turns: deps.turns,
    format,
    cursor,
    matches: options.matches,
    initial,
    initialEnd: options.sendInitialEvents === true && options.allowWatchBookmarks ? from : undefined,
    bookmarks: options.allowWatchBookmarks,
    timeoutMs: Math.min(seconds, 86_400) * 1000,
  });
}
