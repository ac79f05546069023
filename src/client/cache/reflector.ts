// Keeps a sink in step with one resource of the server: list, then watch from there, for as long as it takes.
import { isStatusError } from '../../apimachinery/errors.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import type { Client } from '../client.ts';
import { watchError } from '../create-client.ts';
import { Backoff, reflectorBackoff, refusedBackoff } from './backoff.ts';
import { processingLatency } from './informer-metrics.ts';

export interface ReflectorSink<T> {
  /** The whole truth as of a list. */
  replace(objects: readonly T[]): void;
  set(object: T): void;
  remove(object: T): void;
}

export interface ReflectorDeps {
  readonly client: Pick<Client, 'list' | 'watch'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Told of each failure, which is tried again all the same. */
  readonly watchErrorHandler?: ((error: unknown) => void) | undefined;
  /** Where it is counted how long handlers take. */
  readonly metrics?: MetricsRegistry | undefined;
  /** Whose informers these are. */
  readonly name?: string | undefined;
}

export interface ReflectorScope {
  readonly namespace?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly labelSelector?: string | undefined;
  /** Of a list; events of a watch have the whole object. */
  readonly metadataOnly?: true;
}

/** A server that keeps more history in memory than this gives pages, which are put together before they are shown. */
const pageSize = 5000;
const watchSecondsMin = 300;

const isExpired = (error: unknown): boolean =>
  isStatusError(error, 'Expired') || isStatusError(error, 'Gone');

function scopeOptions(scope: ReflectorScope) {
  return {
    ...(scope.namespace ? { namespace: scope.namespace } : {}),
    ...(scope.fieldSelector ? { fieldSelector: scope.fieldSelector } : {}),
    ...(scope.labelSelector ? { labelSelector: scope.labelSelector } : {}),
  };
}

/** All pages of a list as one; what came until then when `signal` is aborted. */
async function listAll<T>(
  client: Pick<Client, 'list'>,
  resource: ResourceRef<T>,
  scope: ReflectorScope,
  signal: AbortSignal,
): Promise<{ readonly items: readonly T[]; readonly revision: string }> {
  const items: T[] = [];
  let next: string | undefined;
  let revision = '';
  do {
    const page = await client.list(resource, {
      ...scopeOptions(scope),
      ...(scope.metadataOnly ? { metadataOnly: true } : {}),
      limit: pageSize,
      ...(next === undefined ? {} : { continue: next }),
    });
    for (const item of page.items) items.push(item);
    revision = page.metadata.resourceVersion;
    next = page.metadata.continue === '' ? undefined : page.metadata.continue;
  } while (next !== undefined && !signal.aborted);
  return { items, revision };
}

/** A list counts once: it is handed on in one go. */
function timedSink<T>(
  sink: ReflectorSink<T>,
  { clock, metrics, name = '' }: ReflectorDeps,
  resource: ResourceRef<T>,
): ReflectorSink<T> {
  if (metrics === undefined) return sink;
  const latency = processingLatency(metrics, name, resource);
  const timed =
    <A>(handle: (what: A) => void) =>
    (what: A): void => {
      const began = clock.monotonic();
      handle(what);
      latency.observe((clock.monotonic() - began) / 1000);
    };
  return {
    replace: timed((objects: readonly T[]) => sink.replace(objects)),
    set: timed((object: T) => sink.set(object)),
    remove: timed((object: T) => sink.remove(object)),
  };
}

/** Nobody listens there. */
const isRefused = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';

/** Runs until `signal` is aborted; failures are logged and tried again. */
export async function reflect<T>(
  deps: ReflectorDeps,
  resource: ResourceRef<T>,
  scope: ReflectorScope,
  handled: ReflectorSink<T>,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, random, log } = deps;
  const sink = timedSink(handled, deps, resource);
  const backoff = new Backoff(clock, random, reflectorBackoff);
  const refused = new Backoff(clock, random, refusedBackoff);
  let revision: string | undefined;

  /** Returns how many events came: a watch that ends at once with none is a failing one. */
  async function watchOn(from: string): Promise<number> {
    let seen = 0;
    const events = client.watch(resource, {
      ...scopeOptions(scope),
      resourceVersion: from,
      allowWatchBookmarks: true,
      // Spread, so that not all watches of a process are renewed in one moment.
      timeoutSeconds: watchSecondsMin + random.uint(watchSecondsMin),
      signal,
    });
    for await (const event of events) {
      if (event.type === 'ERROR') throw watchError(event);
      seen += 1;
      if (event.type === 'DELETED') sink.remove(event.object);
      else if (event.type !== 'BOOKMARK') sink.set(event.object);
      revision = (event.object as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
    }
    return seen;
  }

  while (!signal.aborted) {
    try {
      if (revision === undefined) {
        const listed = await listAll(client, resource, scope, signal);
        if (signal.aborted) return;
        sink.replace(listed.items);
        revision = listed.revision;
      }
      const startedAt = clock.monotonic();
      const seen = await watchOn(revision);
      if (seen === 0 && clock.monotonic() - startedAt < 1000 && !signal.aborted)
        await clock.sleep(backoff.delayMs(), signal);
    } catch (error) {
      if (signal.aborted) return;
      const context = { error, resource: resource.resource, resourceVersion: revision };
      // History is gone: the list is read again, and the store is told the difference.
      if (isExpired(error)) revision = undefined;
      log.debug(context, 'list or watch failed, trying again');
      deps.watchErrorHandler?.(error);
      try {
        await clock.sleep((isRefused(error) ? refused : backoff).delayMs(), signal);
      } catch {
        return;
      }
    }
  }
}
