// The scheduler: takes pods without a node from the queue, one after the other, and binds them.
import { namespaces, pods } from '../api/generated/resources.ts';
import type { Namespace, Pod } from '../api/generated/types/core-v1.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Informer, InformerFactory } from '../client/cache/informer.ts';
import type { Client } from '../client/client.ts';
import { type EventRecorder, referenceTo } from '../client/event-recorder.ts';
import type { Logger } from '../component-base/logger.ts';
import type { MetricsRegistry } from '../component-base/metrics.ts';
import { SchedulerCache } from './cache.ts';
import { schedulerOf, watchCluster } from './cluster-events.ts';
import type { PluginArgs } from './config/plugin-args.ts';
import {
  type ExtenderConfiguration,
  type ProfileConfiguration,
  type SchedulerConfiguration,
  usualConfiguration,
} from './config/scheduler-configuration.ts';
import { type WatchedDevices, watchDevices } from './devices-view.ts';
import {
  type AskExtender,
  bindingExtender,
  type Extender,
  isInterested,
  preemptByExtenders,
} from './extender.ts';
import { fitErrorMessage } from './fit-error.ts';
import type { CycleState } from './framework/cycle-state.ts';
import { Framework } from './framework/framework.ts';
import { FrameworkMetrics } from './framework/framework-metrics.ts';
import { Nominator } from './framework/nominator.ts';
import type { Plugin, PostFilterResult, QueuedPod, WeightedPlugin } from './framework/plugin.ts';
import { NodeStatuses, type Status } from './framework/status.ts';
import { defaultPlugins } from './plugins/registry.ts';
import { pluginsByPoint } from './profile.ts';
import { type QueueProfile, SchedulingQueue } from './queue/scheduling-queue.ts';
import { RefusalWriter } from './refusal-writer.ts';
import {
  type AttemptResult,
  type SchedulerMetrics,
  schedulerMetrics,
  showCache,
} from './scheduler-metrics.ts';
import { type CycleResult, noNodes, schedulePod, schedulePodWith } from './scheduling-cycle.ts';
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
  /** Upstream's KubeSchedulerConfiguration; without it there is one profile, with the default plugins. */
  readonly configuration?: SchedulerConfiguration | undefined;
  /** How extenders are reached. Needed where the configuration has some. */
  readonly extenderClient?: ((configuration: ExtenderConfiguration) => AskExtender) | undefined;
  /** Of a profile by its name, who tells of its pods; without it `events` does for all. */
  readonly eventsOf?: ((schedulerName: string) => EventRecorder) | undefined;
  /** Plugins beside the default ones; their filters run last. */
  readonly extraPlugins?: readonly Plugin[];
}

export interface Scheduler {
  stop(): void;
}

/** Starts scheduling; the informers must be started by the caller. */
export const startScheduler = (options: SchedulerOptions): Scheduler => new PodScheduler(options);

/** What pods that name it are scheduled by. */
interface Profile {
  readonly framework: Framework;
  readonly metrics: SchedulerMetrics;
  readonly events: EventRecorder;
  readonly percentage: number;
  readonly queue: QueueProfile;
}

const unreachable: AskExtender = () => Promise.reject(new Error('there is no way to reach extenders'));

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
  readonly #configuration: SchedulerConfiguration;
  readonly #extenders: readonly Extender[];
  readonly #cache = new SchedulerCache();
  readonly #nominator = new Nominator();
  readonly #namespaces: Informer<Namespace>;
  readonly #storage: WatchedStorage;
  readonly #devices: WatchedDevices;
  readonly #profiles: ReadonlyMap<string, Profile>;
  /** Somebody else is asked about a pod: the next one waits. */
  #isAsking = false;
  readonly #queue: SchedulingQueue;
  readonly #refusals: RefusalWriter;
  /** What is to be ended. */
  readonly #ends: (() => void)[];
  #cancelFlush: () => void = () => {};
  #isStopped = false;
  #isAwake = false;
  /** Where the last search stopped. */
  #startAt = 0;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    const { client, clock, informers, log } = options;
    this.#configuration = options.configuration ?? usualConfiguration();
    this.#extenders = this.#configuration.extenders.map((one) => ({
      configuration: one,
      ask: options.extenderClient?.(one) ?? unreachable,
    }));
    this.#storage = watchStorage(informers, clock);
    this.#devices = watchDevices(informers);
    this.#namespaces = informers.informer(namespaces);
    this.#profiles = new Map(
      this.#configuration.profiles.map((one) => [one.schedulerName, this.#profile(one)]),
    );
    this.#queue = this.#newQueue();
    this.#refusals = new RefusalWriter({ client, clock, log });
    this.#storage.onChange((event, change) => this.#queue.moveAllOn(event, change));
    this.#devices.onChange((event, change) => this.#queue.moveAllOn(event, change));
    this.#ends = [
      showCache(options.metrics, () => this.#cache.sizes()),
      watchCluster(informers, {
        isOurs: (pod) => this.#profiles.has(schedulerOf(pod)),
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

  /** Throws for plugins that can't do what the profile says. */
  #profile(configuration: ProfileConfiguration): Profile {
    const { clock, events, eventsOf, extraPlugins = [], metrics } = this.#options;
    const { schedulerName } = configuration;
    const own = eventsOf?.(schedulerName) ?? events;
    const usual = [
      ...this.#plugins(own, this.#leavingToExtenders(configuration.args)),
      ...extraPlugins.map((plugin) => ({ plugin, weight: 1 })),
    ];
    const binder = bindingExtender(this.#extenders);
    const named = pluginsByPoint(configuration, usual);
    const points = binder ? { ...named, bind: [{ plugin: binder, weight: 0 }, ...named.bind] } : named;
    const measured = new FrameworkMetrics(metrics, clock, schedulerName);
    return {
      framework: new Framework(points, measured, this.#nominator),
      metrics: schedulerMetrics(metrics, schedulerName),
      events: own,
      percentage: configuration.percentageOfNodesToScore ?? this.#configuration.percentageOfNodesToScore,
      queue: {
        name: schedulerName,
        preEnqueue: points.preEnqueue.map(({ plugin }) => plugin),
        requeueOn: new Map([
          [noNodes, ['NodeAdd']],
          ...usual.flatMap(({ plugin }) =>
            plugin.requeueOn ? [[plugin.name, plugin.requeueOn] as const] : [],
          ),
        ]),
      },
    };
  }

  /** Of what extenders look after nobody here counts how much there is. */
  #leavingToExtenders(args: PluginArgs): PluginArgs {
    const managed = this.#extenders.flatMap(({ configuration }) => configuration.managedResources);
    const ignored = managed.filter((one) => one.ignoredByScheduler).map(({ name }) => name);
    if (ignored.length === 0) return args;
    const { ignoredResources } = args.NodeResourcesFit;
    return {
      ...args,
      NodeResourcesFit: { ...args.NodeResourcesFit, ignoredResources: [...ignoredResources, ...ignored] },
    };
  }

  #plugins(events: EventRecorder, args: PluginArgs): readonly WeightedPlugin[] {
    const { lister } = this.#namespaces;
    return defaultPlugins(
      {
        ...this.#options,
        events,
        storage: this.#storage,
        devices: this.#devices,
        labelsOf: (name) => lister.get(name)?.metadata.labels,
        nominator: this.#nominator,
        amongCandidates:
          this.#extenders.length === 0
            ? undefined
            : (pod, found, snapshot) => preemptByExtenders(this.#extenders, pod, found, snapshot),
        activate: (pod) => this.#isStopped || this.#queue.activate(pod),
        released: (pod) => this.#isStopped || this.#queue.released(pod, 'DefaultPreemption'),
      },
      args,
    );
  }

  /** Only pods of a profile come here, and what names one can't be changed. */
  #profileOf(pod: Pod): Profile {
    return this.#profiles.get(schedulerOf(pod))!;
  }

  #newQueue(): SchedulingQueue {
    const { clock, metrics } = this.#options;
    const { podInitialBackoffSeconds, podMaxBackoffSeconds, profiles } = this.#configuration;
    // The same for all profiles.
    const [sort] = this.#profiles.get(profiles[0]!.schedulerName)!.framework.points.queueSort;
    return new SchedulingQueue({
      clock,
      metrics,
      backoff: { firstMs: podInitialBackoffSeconds * 1_000, longestMs: podMaxBackoffSeconds * 1_000 },
      less: sort!.plugin.less!,
      profileOf: (pod) => this.#profileOf(pod).queue,
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
    while (!this.#isStopped && !this.#isAsking) {
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

  #scheduleOne(attempt: Attempt): void | Promise<void> {
    const { pod } = attempt.queued;
    if (pod.metadata.deletionTimestamp || this.#cache.isPlaced(pod)) {
      this.#queue.done(attempt.queued);
      return;
    }
    const { clock, random } = this.#options;
    const { framework, metrics, percentage } = this.#profileOf(pod);
    const began = clock.monotonic();
    const cycle = {
      framework,
      random,
      percentage,
      startAt: this.#startAt,
      nominated: this.#nominator.nodeOf(pod),
    };
    const decided = (result: ReturnType<typeof schedulePod>): void | Promise<void> => {
      metrics.searched((clock.monotonic() - began) / 1000);
      this.#startAt = result.nextStart;
      return result.fits ? this.#place(attempt, result) : this.#unschedulable(attempt, result);
    };
    if (!this.#extenders.some((extender) => isInterested(extender, pod))) {
      return decided(schedulePod(pod, this.#cache.snapshot(), cycle));
    }
    const asked = schedulePodWith(this.#extenders, pod, this.#cache.snapshot(), cycle);
    return this.#asking(
      asked.then((result) => {
        if (!this.#isStopped) return decided(result);
        return undefined;
      }),
    );
  }

  #place(attempt: Attempt, { node, state }: CycleResult & { fits: true }): void {
    const { pod } = attempt.queued;
    this.#cache.assume(pod, node);
    this.#nominator.forget(pod);
    const { framework } = this.#profileOf(pod);
    const refused = framework.runReserve(state, pod, node) ?? framework.runPermit(state, pod, node);
    if (refused === undefined) {
      this.#guarded(attempt, () => this.#bind(attempt, state, node));
      return;
    }
    framework.runUnreserve(state, pod, node);
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
    const { events, framework, metrics } = this.#profileOf(pod);
    const status = await framework.runBind(state, pod, node);
    if (this.#isStopped) return;
    if (status) {
      framework.runUnreserve(state, pod, node);
      this.#cache.forget(pod);
      this.#queue.moveAllOn('AssignedPodDelete', {
        oldPod: { ...pod, spec: { ...pod.spec, nodeName: node } },
      });
      this.#fail(attempt, wentWrong(status.reasons.join(', ')));
      return;
    }
    this.#queue.done(attempt.queued);
    this.#ended(attempt, 'scheduled');
    metrics.scheduled(attempts, (this.#options.clock.monotonic() - addedAt) / 1000);
    const message = `Successfully assigned ${key} to ${node}`;
    events.event(referenceTo(pods, pod), 'Normal', 'Scheduled', message);
  }

  #unschedulable(attempt: Attempt, result: CycleResult & { fits: false }): void | Promise<void> {
    const { refused, state, statuses, total } = result;
    const { pod } = attempt.queued;
    const { framework } = this.#profileOf(pod);
    const broken = [refused, ...statuses.asked.values()].find((status) => status?.code === 'Error');
    if (broken) {
      const message = `running ${JSON.stringify(broken.plugin)}: ${broken.reasons.join(', ')}`;
      this.#fail(attempt, wentWrong(message));
      return undefined;
    }
    const others = statuses.asked.size < total || total === 0 ? [statuses.others] : [];
    const refusals: Status[] = [...statuses.asked.values(), ...others];
    const fail = (after?: PostFilterResult): void =>
      this.#fail(attempt, {
        message: fitErrorMessage(total, statuses, refused, after?.status?.reasons.join(', ')),
        refusedBy: new Set(refusals.flatMap(({ plugin }) => plugin ?? [])),
        nominatedNode: after ? after.nominatedNode : '',
      });
    if (total === 0 || !framework.hasPostFilter) return fail();
    // Before the next pod is tried: what is promised to this one is not for others.
    const after = framework.runPostFilter(state, pod, this.#cache.snapshot(), statuses);
    return after instanceof Promise ? this.#asking(after.then(fail)) : fail(after);
  }

  /** The next pod waits until it is done. */
  #asking(work: Promise<void>): Promise<void> {
    this.#isAsking = true;
    return work.finally(() => {
      this.#isAsking = false;
      this.#wake();
    });
  }

  #ended({ beganMs, queued }: Attempt, result: AttemptResult): void {
    this.#profileOf(queued.pod).metrics.attempted(result, (this.#options.clock.monotonic() - beganMs) / 1000);
  }

  #fail(attempt: Attempt, { message, nominatedNode, refusedBy }: Failure): void {
    if (this.#isStopped) return;
    const { queued } = attempt;
    const isError = refusedBy.size === 0;
    this.#ended(attempt, isError ? 'error' : 'unschedulable');
    if (!this.#queue.addUnschedulable(queued, refusedBy)) return;
    // Before the API server knows: whoever is tried next leaves the room alone.
    if (nominatedNode !== undefined) this.#nominator.nominate(queued.pod, nominatedNode);
    const { events } = this.#profileOf(queued.pod);
    events.event(referenceTo(pods, queued.pod), 'Warning', 'FailedScheduling', message);
    const reason = isError ? 'SchedulerError' : 'Unschedulable';
    this.#refusals.write(queued.pod, { reason, message, nominatedNode });
  }
}
