// Runs a list of controllers over shared informers until a signal ends them.
import { isStatusError } from '../apimachinery/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { aborted } from '../base/until-aborted.ts';
import type { InformerFactory } from '../client/cache/informer.ts';
import { objectKey } from '../client/cache/object-store.ts';
import type { Client, ObjectKey } from '../client/client.ts';
import { discover } from '../client/discovery.ts';
import { createEventRecorder } from '../client/event-recorder.ts';
import type { Logger } from '../component-base/logger.ts';
import type { MetricsRegistry } from '../component-base/metrics.ts';
import { declaredClient, declaredReads } from './declared-access.ts';
import type {
  AnyResource,
  Controller,
  ControllerContext,
  ControllerDefinition,
  LoopDefinition,
} from './define-controller.ts';
import { Expectations } from './expectations.ts';
import { IgnorableError } from './ignorable-error.ts';
import { Pace, type PaceOptions } from './pace.ts';
import { queueMetrics } from './queue-metrics.ts';
import { addIndexes, resourcesRead, wireEvents } from './wire-events.ts';
import { WorkQueue } from './work-queue.ts';

export interface ControllerRuntime {
  /** A client that acts as the service account `kube-system/<name>`. */
  clientFor(serviceAccount: string): Client;
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly metrics: MetricsRegistry;
  readonly pace?: PaceOptions;
}

export interface RunningControllers {
  /** All informers hold a first list and all controllers work. */
  readonly ready: Promise<void>;
  /** Resolves after the signal, when nothing runs any more. */
  readonly done: Promise<void>;
}

function keyOfText(text: string): ObjectKey {
  const cut = text.indexOf('/');
  return cut < 0 ? { name: text } : { namespace: text.slice(0, cut), name: text.slice(cut + 1) };
}

interface Queue {
  add(key: string): void;
  addAfter(key: string, delayMs: number): void;
}
const noQueue: Queue = { add() {}, addAfter() {} };

function contextOf(
  runtime: ControllerRuntime,
  definition: Pick<
    ControllerDefinition<unknown>,
    'name' | 'component' | 'serviceAccount' | 'access' | 'namespace'
  >,
  reads: Parameters<typeof declaredReads>[1],
  pace: Pace,
  queue: Queue,
): ControllerContext {
  const { clock, random, signal } = runtime;
  const { name, serviceAccount } = definition;
  const log = runtime.log.child({ controller: name });
  const actual = runtime.clientFor(serviceAccount);
  const client = declaredClient(definition, actual, log);
  return {
    read: declaredReads(name, reads, runtime.informers),
    write: client,
    discover: () => discover(actual),
    events: createEventRecorder({ client, clock, log }, { component: definition.component ?? name }),
    expectations: new Expectations(clock),
    pace,
    clock,
    random,
    log,
    metrics: runtime.metrics,
    signal,
    enqueue: (key) => queue.add(key),
    enqueueAfter: (key, delayMs) => queue.addAfter(key, delayMs),
  };
}

/** Ends one controller: resolves when it does nothing any more. */
type Stop = () => Promise<void>;

/** A lost race, an object that went away meanwhile, or one that waits is a reason to look again and none to complain. */
const isExpected = (error: unknown): boolean =>
  isStatusError(error, 'Conflict') || isStatusError(error, 'NotFound') || error instanceof IgnorableError;

async function runKeyed(
  definition: ControllerDefinition<unknown>,
  reads: readonly AnyResource[],
  runtime: ControllerRuntime,
  pace: Pace,
): Promise<Stop> {
  const { clock, informers, signal, metrics } = runtime;
  const queue = new WorkQueue({
    clock,
    concurrency: definition.concurrency ?? 5,
    baseDelayMs: definition.firstRetryMs,
    metrics: queueMetrics(metrics, definition.queue ?? definition.name),
    async process(key) {
      try {
        const result = await definition.reconcile(keyOfText(key), context);
        queue.forget(key);
        if (result?.requeueAfterMs !== undefined) queue.addAfter(key, result.requeueAfterMs);
      } catch (error) {
        if (signal.aborted) return;
        if (isExpected(error)) context.log.debug({ error, key }, 'reconcile is tried again');
        else
          context.log.warn({ error, key, failures: queue.failuresOf(key) }, 'reconcile failed, trying again');
        queue.addRateLimited(key);
      }
    },
  });
  const context = contextOf(runtime, definition, reads, pace, queue);
  await Promise.all(reads.map((resource) => informers.informer(resource).synced(signal)));
  const end = definition.start?.(context);
  const removes = wireEvents(definition, informers, context);
  let cancelResync = (): void => {};
  const resync = (): void => {
    if (definition.resyncMs === undefined) return;
    cancelResync = clock.timer(definition.resyncMs, () => {
      for (const object of context.read(definition.for).list()) queue.add(objectKey(object));
      resync();
    });
  };
  resync();
  void aborted(signal).then(() => {
    cancelResync();
    for (const remove of removes) remove();
  });
  return async () => {
    await queue.stop();
    end?.();
    await context.events.flush();
  };
}

async function runLoop(definition: LoopDefinition, runtime: ControllerRuntime, pace: Pace): Promise<Stop> {
  const { informers, signal } = runtime;
  const context = contextOf(runtime, definition, definition.reads, pace, noQueue);
  await Promise.all(definition.reads.map((resource) => informers.informer(resource).synced(signal)));
  const ended = definition.run(context, informers).catch((error: unknown) => {
    if (!signal.aborted) context.log.error({ error }, 'controller ended');
  });
  return async () => {
    await ended;
    await context.events.flush();
  };
}

export function startControllers(
  list: readonly Controller[],
  runtime: ControllerRuntime,
): RunningControllers {
  const { informers, signal, log } = runtime;
  for (const controller of list) {
    for (const resource of resourcesRead(controller)) informers.informer(resource);
    if (controller.type === 'keyed') addIndexes(controller.definition, informers);
  }
  informers.start();
  const pace = new Pace(runtime.clock, runtime.pace);
  const starting = list.map((controller) =>
    controller.type === 'keyed'
      ? runKeyed(controller.definition, resourcesRead(controller), runtime, pace)
      : runLoop(controller.definition, runtime, pace),
  );
  const ready = Promise.all(starting).then(() => {});
  const done = (async () => {
    await ready.catch((error: unknown) => {
      if (!signal.aborted) log.error({ error }, 'controllers did not start');
    });
    await aborted(signal);
    const begun = await Promise.allSettled(starting);
    await Promise.all(begun.map((stop) => (stop.status === 'fulfilled' ? stop.value() : undefined)));
  })();
  return { ready, done };
}
