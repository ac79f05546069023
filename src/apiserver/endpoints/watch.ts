// GET of a collection with watch=true: where the stream begins, what comes first, and when it ends.
import { CompactedError } from '../../storage/storage.ts';
import type { CachedObject, WatchCursor } from '../../storage/watch/resource-cache.ts';
import { isWebSocketRequest } from '../../wire/websocket.ts';
import type { ApiResponse, PullBody } from '../http.ts';
import { contentTypes, formsOf, negotiateStream } from '../negotiation.ts';
import type { RemoteVersions } from '../registry/remote-versions.ts';
import { watchByWebSocket } from '../streaming/websocket-stream.ts';
import { ConvertingCursor } from './converting-cursor.ts';
import type { EndpointRequest } from './endpoint.ts';
import { scopeOf } from './list.ts';
import { atLeast, type ListOptions, parseRevision, readListOptions } from './list-options.ts';
import { includeObjectOf } from './object-response.ts';
import { errorFrame, SingleFrame, WatchBody } from './watch-body.ts';
import { type FrameFormat, frameKeysOf } from './watch-frames.ts';

/** As upstream's min-request-timeout: a watch lasts half an hour to an hour unless it asks for less. */
const minTimeoutSeconds = 1800;

export async function watchObjects(request: EndpointRequest): Promise<ApiResponse> {
  const { context, declaration, store, deps } = request;
  const options = readListOptions(context.query, declaration, 'watch', context.info.name);
  const negotiated = negotiateStream(context.header('accept'), formsOf(declaration));
  const format: FrameFormat = {
    frameKeys: frameKeysOf(negotiated, declaration),
    negotiated,
    declaration,
    includeObject: includeObjectOf(context, negotiated),
    protobuf: deps.protobuf,
    // What only a webhook can tell comes converted.
    convert: store.remote === undefined ? (value) => store.ownBytes(value) : (value) => value,
    now: deps.now,
  };
  const asked = parseRevision(options.resourceVersion);
  try {
    await atLeast(store.cache, options.resourceVersion);
  } catch (error) {
    // Upstream, too, gives a watch from the future the benefit of the doubt and waits.
    if (asked === 0 || options.sendInitialEvents === true) throw error;
  }
  const body = await openBody(request, options, asked, format);
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

interface Beginning {
  readonly initial: readonly CachedObject[];
  readonly from: number;
  readonly cursor: WatchCursor;
}

/** Throws CompactedError. */
function beginningOf(request: EndpointRequest, options: ListOptions, asked: number): Beginning {
  const { cache, remote } = request.store;
  const given = scopeOf(request, options);
  // Selectors are of the version that is asked for, which is not known yet.
  const scope = remote === undefined ? given : { ...given, matches: undefined, exactField: undefined };
  const wantsInitial = options.sendInitialEvents ?? asked === 0;
  if (wantsInitial) {
    const { items, revision } = cache.list({ ...scope, limit: 0 });
    return { initial: items, from: revision, cursor: cache.watch(revision, scope.namespace) };
  }
  const from = asked === 0 ? cache.currentRevision() : asked;
  return { initial: [], from, cursor: cache.watch(from, scope.namespace) };
}

/** All of it in the version that is asked for. Throws StatusError. */
async function converted(
  { initial, from, cursor }: Beginning,
  remote: RemoteVersions,
  { matches }: ListOptions,
): Promise<Beginning> {
  try {
    const items = await remote.items(initial);
    return {
      initial: matches === undefined ? items : items.filter(({ index }) => matches(index)),
      from,
      cursor: new ConvertingCursor(cursor, remote, matches !== undefined),
    };
  } catch (error) {
    cursor.close();
    throw error;
  }
}

async function openBody(
  request: EndpointRequest,
  options: ListOptions,
  asked: number,
  format: FrameFormat,
): Promise<PullBody> {
  const { declaration, store, deps } = request;
  let beginning: Beginning;
  try {
    beginning = beginningOf(request, options, asked);
  } catch (error) {
    if (error instanceof CompactedError) return new SingleFrame(errorFrame(format, error));
    throw error;
  }
  if (store.remote !== undefined) beginning = await converted(beginning, store.remote, options);
  const { initial, from, cursor } = beginning;
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
    ends: declaration.replaced,
  });
}
