// The scheduler: takes pods without a node from the queue, one after the other, and binds them.
import { namespaces, pods } from '../api/generated/resources.ts';
import type { Namespace } from '../api/generated/types/core-v1.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Informer, InformerFactory } from '../client/cache/informer.ts';
import type { Client } from '../client/client.ts';
import { type EventRecorder, referenceTo } from '../client/event-recorder.ts';
import type { Logger } from '../component-base/logger.ts';
import type { MetricsRegistry } from '../component-base/metrics.ts';
import { SchedulerCache } from './cache.ts';
import { schedulerName, watchCluster } from './cluster-events.ts';
import { type WatchedDevices, watchDevices } from './devices-view.ts';
import { fitErrorMessage } from './fit-error.ts';
import type { CycleState } from './framework/cycle-state.ts';
import { Framework } from './framework/framework.ts';
import { FrameworkMetrics } from './framework/framework-metrics.ts';
import { Nominator } from './framework/nominator.ts';
import type { Plugin, QueuedPod, WeightedPlugin } from './framework/plugin.ts';
import { NodeStatuses, type Status } from './framework/status.ts';
import { defaultPlugins } from './plugins/registry.ts';
import { SchedulingQueue } from './queue/scheduling-queue.ts';
import { RefusalWriter } from './refusal-writer.ts';
import { type AttemptResult, type SchedulerMetrics, schedulerMetrics } from './scheduler-metrics.ts';
import { type CycleResult, noNodes, schedulePod } from './scheduling-cycle.ts';
import { type WatchedStorage, watchStorage } from './storage-view.ts';

/** Scheduling stops for other work of the process after this. */
const sliceMs = 5;
const flushEveryMs = 30_000;

export interface SchedulerOptions {
  readonly client: Client;
  readonly informers: InformerFactory;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
  /** Plugins beside the default ones; their filters run last. */
  readonly extraPlugins?: readonly Plugin[];
}

export interface Scheduler {
  stop(): void;
}

/** Starts scheduling; the informers must be started by the caller. */
export const startScheduler = (options: SchedulerOptions): Scheduler => new PodScheduler(options);

/** One try to place a pod. */
interface Attempt {
  readonly queued: QueuedPod;
  readonly beganMs: number;
}

/** Why a try led to nothing. */
interface Failure {
  readonly message: string;
  /** Without a plugin that refused it, the try itself went wrong. */
  readonly refusedBy: ReadonlySet<string>;
  /** '' takes a nomination back, undefined leaves it. */
  readonly nominatedNode?: string | undefined;
}

const wentWrong = (message: string): Failure => ({ message, refusedBy: new Set(), nominatedNode: '' });

class PodScheduler implements Scheduler {
  readonly #options: SchedulerOptions;
  readonly #cache = new SchedulerCache();
  readonly #nominator = new Nominator();
  readonly #namespaces: Informer<Namespace>;
  readonly #storage: WatchedStorage;
  readonly #devices: WatchedDevices;
  readonly #framework: Framework;
  readonly #queue: SchedulingQueue;
  readonly #refusals: RefusalWriter;
  readonly #metrics: SchedulerMetrics;
  /** What is to be ended. */
  readonly #ends: (() => void)[];
  #cancelFlush: () => void = () => {};
  #isStopped = false;
  #isAwake = false;
  /** Where the last search stopped. */
  #startAt = 0;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    const { client, clock, extraPlugins = [], informers, log, metrics } = options;
    this.#storage = watchStorage(informers, clock);
    this.#devices = watchDevices(informers);
    this.#namespaces = informers.informer(namespaces);
    this.#framework = new Framework(
      [...this.#plugins(), ...extraPlugins.map((plugin) => ({ plugin, weight: 1 }))],
      new FrameworkMetrics(metrics, clock, schedulerName),
      this.#nominator,
    );
    this.#queue = this.#newQueue();
    this.#refusals = new RefusalWriter({ client, clock, log });
    this.#metrics = schedulerMetrics(metrics, schedulerName);
    this.#storage.onChange((event, change) => this.#queue.moveAllOn(event, change));
    this.#devices.onChange((event, change) => this.#queue.moveAllOn(event, change));
    this.#ends = [
      this.#metrics.showCache(() => this.#cache.sizes()),
      watchCluster(informers, {
        cache: this.#cache,
        nominator: this.#nominator,
        queue: this.#queue,
        refusals: this.#refusals,
      }),
    ];
    this.#flushLater();
    void this.#namespaces.synced().then(() => this.#wake());
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelFlush();
    this.#queue.close();
    this.#refusals.stop();
    for (const end of this.#ends) end();
    this.#storage.stop();
    this.#devices.stop();
  }

  #plugins(): readonly WeightedPlugin[] {
    const { lister } = this.#namespaces;
    return defaultPlugins({
      ...this.#options,
      storage: this.#storage,
      devices: this.#devices,
      labelsOf: (name) => lister.get(name)?.metadata.labels,
      nominator: this.#nominator,
      activate: (pod) => this.#isStopped || this.#queue.activate(pod),
      released: (pod) => this.#isStopped || this.#queue.released(pod, 'DefaultPreemption'),
    });
  }

  #newQueue(): SchedulingQueue {
    const { clock, metrics } = this.#options;
    const { plugins } = this.#framework;
    return new SchedulingQueue({
      clock,
      metrics,
      profile: schedulerName,
      less: plugins.find((plugin) => plugin.less)!.less!,
      preEnqueue: plugins.filter((plugin) => plugin.preEnqueue),
      requeueOn: new Map([
        [noNodes, ['NodeAdd']],
        ...plugins.flatMap((plugin) => (plugin.requeueOn ? [[plugin.name, plugin.requeueOn] as const] : [])),
      ]),
      onReady: () => this.#wake(),
    });
  }

  #flushLater(): void {
    this.#cancelFlush = this.#options.clock.timer(flushEveryMs, () => {
      this.#queue.flush();
      this.#flushLater();
    });
  }

  #wake(): void {
    if (this.#isAwake || this.#isStopped) return;
    // What else is not known yet lets a pod wait; a namespace that is not would be one without labels, which nobody avoids.
    if (!this.#namespaces.hasSynced()) return;
    this.#isAwake = true;
    setImmediate(() => {
      this.#isAwake = false;
      this.#runSlice();
    });
  }

  #runSlice(): void {
    const { clock } = this.#options;
    const until = clock.monotonic() + sliceMs;
    while (!this.#isStopped) {
      const queued = this.#queue.pop();
      if (!queued) return;
      const attempt = { queued, beganMs: clock.monotonic() };
      this.#guarded(attempt, () => this.#scheduleOne(attempt));
      if (clock.monotonic() < until) continue;
      this.#wake();
      return;
    }
  }

  /** A plugin that throws has failed this pod, not the scheduler: the pod is tried again after its back-off. */
  #guarded(attempt: Attempt, run: () => void | Promise<void>): void {
    const { key, pod } = attempt.queued;
    const failed = (error: unknown): void => {
      this.#options.log.error({ pod: key, error }, 'scheduling a pod failed');
      this.#cache.forget(pod);
      this.#fail(attempt, wentWrong(error instanceof Error ? error.message : String(error)));
    };
    try {
      run()?.catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  #scheduleOne(attempt: Attempt): void {
    const { pod } = attempt.queued;
    if (pod.metadata.deletionTimestamp || this.#cache.isPlaced(pod)) {
      this.#queue.done(attempt.queued);
      return;
    }
    const { clock, random } = this.#options;
    const began = clock.monotonic();
    const result = schedulePod(pod, this.#cache.snapshot(), {
      framework: this.#framework,
      random,
      startAt: this.#startAt,
      nominated: this.#nominator.nodeOf(pod),
    });
    this.#metrics.searched((clock.monotonic() - began) / 1000);
    this.#startAt = result.nextStart;
    if (result.fits) this.#place(attempt, result);
    else this.#guarded(attempt, () => this.#unschedulable(attempt, result));
  }

  #place(attempt: Attempt, { node, state }: CycleResult & { fits: true }): void {
    const { pod } = attempt.queued;
    this.#cache.assume(pod, node);
    this.#nominator.forget(pod);
    const refused =
      this.#framework.runReserve(state, pod, node) ?? this.#framework.runPermit(state, pod, node);
    if (refused === undefined) {
      this.#guarded(attempt, () => this.#bind(attempt, state, node));
      return;
    }
    this.#framework.runUnreserve(state, pod, node);
    this.#cache.forget(pod);
    const statuses = new NodeStatuses();
    statuses.asked.set(node, refused);
    this.#fail(attempt, {
      message: refused.code === 'Error' ? refused.reasons.join(', ') : fitErrorMessage(1, statuses),
      refusedBy: new Set(refused.code === 'Error' ? [] : [refused.plugin ?? '']),
      nominatedNode: '',
    });
  }

  async #bind(attempt: Attempt, state: CycleState, node: string): Promise<void> {
    const { addedAt, attempts, key, pod } = attempt.queued;
    this.#queue.found(attempt.queued);
    // A refusal from before must not be written over PodScheduled=True.
    await this.#refusals.forget(pod);
    const status = await this.#framework.runBind(state, pod, node);
    if (this.#isStopped) return;
    if (status) {
      this.#framework.runUnreserve(state, pod, node);
      this.#cache.forget(pod);
      this.#queue.moveAllOn('AssignedPodDelete', {
        oldPod: { ...pod, spec: { ...pod.spec, nodeName: node } },
      });
      this.#fail(attempt, wentWrong(status.reasons.join(', ')));
      return;
    }
    this.#queue.done(attempt.queued);
    this.#ended(attempt, 'scheduled');
    this.#metrics.scheduled(attempts, (this.#options.clock.monotonic() - addedAt) / 1000);
    const message = `Successfully assigned ${key} to ${node}`;
    this.#options.events.event(referenceTo(pods, pod), 'Normal', 'Scheduled', message);
  }

  async #unschedulable(attempt: Attempt, result: CycleResult & { fits: false }): Promise<void> {
    const { refused, state, statuses, total } = result;
    const { pod } = attempt.queued;
    const broken = [refused, ...statuses.asked.values()].find((status) => status?.code === 'Error');
    if (broken) {
      this.#fail(
        attempt,
        wentWrong(`running ${JSON.stringify(broken.plugin)}: ${broken.reasons.join(', ')}`),
      );
      return;
    }
    const after =
      total === 0 || !this.#framework.hasPostFilter
        ? undefined
        : await this.#framework.runPostFilter(state, pod, this.#cache.snapshot(), statuses);
    const others = statuses.asked.size < total || total === 0 ? [statuses.others] : [];
    const refusals: Status[] = [...statuses.asked.values(), ...others];
    this.#fail(attempt, {
      message: fitErrorMessage(total, statuses, refused, after?.status?.reasons.join(', ')),
      refusedBy: new Set(refusals.flatMap(({ plugin }) => plugin ?? [])),
      nominatedNode: after ? after.nominatedNode : '',
    });
  }

  #ended({ beganMs }: Attempt, result: AttemptResult): void {
    this.#metrics.attempted(result, (this.#options.clock.monotonic() - beganMs) / 1000);
  }

  #fail(attempt: Attempt, { message, nominatedNode, refusedBy }: Failure): void {
    if (this.#isStopped) return;
    const { queued } = attempt;
    const isError = refusedBy.size === 0;
    this.#ended(attempt, isError ? 'error' : 'unschedulable');
    if (!this.#queue.addUnschedulable(queued, refusedBy)) return;
    // Before the API server knows: whoever is tried next leaves the room alone.
    if (nominatedNode !== undefined) this.#nominator.nominate(queued.pod, nominatedNode);
    this.#options.events.event(referenceTo(pods, queued.pod), 'Warning', 'FailedScheduling', message);
    const reason = isError ? 'SchedulerError' : 'Unschedulable';
    this.#refusals.write(queued.pod, { reason, message, nominatedNode });
  }
}
