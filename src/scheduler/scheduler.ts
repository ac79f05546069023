// The scheduler: takes pods without a node from the queue, one after the other, and binds them.
import { nodes, pods } from '../api/generated/resources.ts';
import type { Node, Pod } from '../api/generated/types/core-v1.ts';
import { semanticEqual } from '../apimachinery/equality.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { InformerFactory } from '../client/cache/informer.ts';
import type { Client } from '../client/client.ts';
import { type EventRecorder, referenceTo } from '../client/event-recorder.ts';
import type { Logger } from '../component-base/logger.ts';
import { SchedulerCache } from './cache.ts';
import { fitErrorMessage } from './fit-error.ts';
import type { CycleState } from './framework/cycle-state.ts';
import { Framework } from './framework/framework.ts';
import type { ClusterEvent, Plugin, QueuedPod } from './framework/plugin.ts';
import type { Status } from './framework/status.ts';
import { defaultPlugins } from './plugins/registry.ts';
import { SchedulingQueue } from './queue/scheduling-queue.ts';
import { RefusalWriter } from './refusal-writer.ts';
import { noNodes, schedulePod } from './scheduling-cycle.ts';
import { watchStorage } from './storage-view.ts';

export const schedulerName = 'default-scheduler';
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
  /** Plugins beside the default ones; their filters run last. */
  readonly extraPlugins?: readonly Plugin[];
}

export interface Scheduler {
  stop(): void;
}

const isOurs = (pod: Pod): boolean => (pod.spec.schedulerName ?? schedulerName) === schedulerName;
const isTerminal = (pod: Pod): boolean => pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
const hasNode = (pod: Pod): boolean => (pod.spec.nodeName ?? '') !== '';

/** The events that a change of a node is. */
function nodeEvents(old: Node, node: Node): ClusterEvent[] {
  const differs = (a: unknown, b: unknown): boolean => JSON.stringify(a) !== JSON.stringify(b);
  const out: ClusterEvent[] = [];
  if (differs(old.status?.allocatable, node.status?.allocatable)) out.push('NodeAllocatableUpdate');
  if (differs(old.metadata.labels, node.metadata.labels)) out.push('NodeLabelUpdate');
  if (differs(old.spec.taints, node.spec.taints)) out.push('NodeTaintUpdate');
  if (differs(old.spec.unschedulable, node.spec.unschedulable)) out.push('NodeUnschedulableUpdate');
  return out;
}

/** Starts scheduling; the informers must be started by the caller. */
export function startScheduler(options: SchedulerOptions): Scheduler {
  const { client, clock, log } = options;
  const storage = watchStorage(options.informers, clock, () => {
    queue.moveAllOn('StorageChange');
    wake();
  });
  const weighted = [
    ...defaultPlugins(client, storage),
    ...(options.extraPlugins ?? []).map((plugin) => ({ plugin, weight: 1 })),
  ];
  const framework = new Framework(weighted);
  const cache = new SchedulerCache();
  const refusals = new RefusalWriter({ client, clock, log });
  let stopped = false;
  let scheduled = false;
  let startAt = 0;

  const queue = new SchedulingQueue({
    clock,
    less: framework.plugins.find((plugin) => plugin.less)!.less!,
    preEnqueue: framework.plugins.filter((plugin) => plugin.preEnqueue),
    requeueOn: new Map([
      [noNodes, ['NodeAdd']],
      ...framework.plugins.flatMap((plugin) =>
        plugin.requeueOn ? [[plugin.name, plugin.requeueOn] as const] : [],
      ),
    ]),
    onReady: () => wake(),
  });

  function wake(): void {
    if (scheduled || stopped) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      runSlice();
    });
  }

  function runSlice(): void {
    const until = clock.monotonic() + sliceMs;
    while (!stopped) {
      const next = queue.pop();
      if (!next) return;
      guarded(next, () => scheduleOne(next));
      if (clock.monotonic() < until) continue;
      wake();
      return;
    }
  }

  /** A plugin that throws has failed this pod, not the scheduler: the pod is tried again after its back-off. */
  function guarded(queued: QueuedPod, attempt: () => void | Promise<void>): void {
    const failed = (error: unknown): void => {
      log.error({ pod: queued.key, error }, 'scheduling a pod failed');
      cache.forget(queued.pod);
      fail(queued, error instanceof Error ? error.message : String(error), new Set());
    };
    try {
      attempt()?.catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  function scheduleOne(queued: QueuedPod): void {
    const { pod } = queued;
    if (pod.metadata.deletionTimestamp || cache.isPlaced(pod)) {
      queue.done(queued.key);
      return;
    }
    const snapshot = cache.snapshot();
    const result = schedulePod(pod, snapshot, { framework, random: options.random, startAt });
    startAt = result.nextStart;
    if (!result.fits) {
      guarded(queued, () =>
        handleUnschedulable(queued, result.statuses, result.state, result.refused, result.total),
      );
      return;
    }
    const { node, state } = result;
    cache.assume(pod, node);
    const refused = framework.runReserve(state, pod, node) ?? framework.runPermit(state, pod, node);
    if (refused) {
      framework.runUnreserve(state, pod, node);
      cache.forget(pod);
      fail(queued, refused.reasons.join(', '), new Set([refused.plugin ?? '']));
      return;
    }
    guarded(queued, () => bind(queued, state, node));
  }

  async function bind(queued: QueuedPod, state: CycleState, node: string): Promise<void> {
    const { pod } = queued;
    // A refusal from before must not be written over PodScheduled=True.
    await refusals.forget(pod);
    const status = await framework.runBind(state, pod, node);
    if (stopped) return;
    if (!status) {
      queue.done(queued.key);
      options.events.event(
        referenceTo(pods, pod),
        'Normal',
        'Scheduled',
        `Successfully assigned ${queued.key} to ${node}`,
      );
      return;
    }
    framework.runUnreserve(state, pod, node);
    cache.forget(pod);
    queue.moveAllOn('AssignedPodDelete');
    fail(queued, status.reasons.join(', '), new Set());
  }

  async function handleUnschedulable(
    queued: QueuedPod,
    statuses: ReadonlyMap<string, Status>,
    state: CycleState,
    refused: Status | undefined,
    total: number,
  ): Promise<void> {
    const after = await framework.runPostFilter(state, queued.pod, cache.snapshot(), statuses);
    const plugins = new Set(
      [...statuses.values(), ...(refused ? [refused] : [])].flatMap((status) =>
        status.plugin ? [status.plugin] : [],
      ),
    );
    fail(queued, fitErrorMessage(total, statuses, refused, after?.message), plugins, after?.nominatedNode);
  }

  function fail(
    queued: QueuedPod,
    message: string,
    refusedBy: ReadonlySet<string>,
    nominatedNode?: string,
  ): void {
    if (stopped) return;
    queue.addUnschedulable(queued, refusedBy);
    options.events.event(referenceTo(pods, queued.pod), 'Warning', 'FailedScheduling', message);
    // Without a plugin that refused it, the try itself went wrong.
    const reason = refusedBy.size === 0 ? 'SchedulerError' : 'Unschedulable';
    refusals.write(queued.pod, { reason, message, nominatedNode });
  }

  const removeNodes = options.informers.informer(nodes).addHandler({
    added: (node) => {
      cache.setNode(node);
      queue.moveAllOn('NodeAdd');
      wake();
    },
    updated: (old, node) => {
      cache.setNode(node);
      for (const event of nodeEvents(old, node)) queue.moveAllOn(event);
      wake();
    },
    deleted: (node) => cache.removeNode(node.metadata.name),
  });

  const schedulingMatters = (old: Pod, pod: Pod): boolean =>
    !semanticEqual(old.metadata.labels, pod.metadata.labels) || !semanticEqual(old.spec, pod.spec);

  const removePods = options.informers.informer(pods).addHandler({
    added: (pod) => {
      if (isTerminal(pod)) return;
      if (hasNode(pod)) {
        cache.addPod(pod);
        queue.moveAllOn('AssignedPodAdd');
      } else if (isOurs(pod)) queue.add(pod);
    },
    updated: (old, pod) => {
      if (isTerminal(pod)) {
        release(pod);
        return;
      }
      if (hasNode(pod)) {
        if (!hasNode(old)) queue.remove(old);
        cache.addPod(pod);
        if (!hasNode(old)) queue.moveAllOn('AssignedPodAdd');
      } else if (isOurs(pod) && !cache.isPlaced(pod)) {
        if (schedulingMatters(old, pod)) queue.update(pod);
        else queue.refresh(pod);
      }
    },
    deleted: (pod) => release(pod),
  });

  function release(pod: Pod): void {
    queue.remove(pod);
    void refusals.forget(pod);
    if (!cache.isPlaced(pod)) return;
    cache.removePod(pod);
    queue.moveAllOn('AssignedPodDelete');
    wake();
  }

  let cancelFlush = clock.timer(flushEveryMs, function flush() {
    queue.flush();
    wake();
    if (!stopped) cancelFlush = clock.timer(flushEveryMs, flush);
  });

  return {
    stop: () => {
      stopped = true;
      cancelFlush();
      queue.close();
      refusals.stop();
      removeNodes();
      removePods();
      storage.stop();
    },
  };
}
