// Which pods wait, and what brought them there, by upstream's names.
import { declareMetrics, type MetricsRegistry } from '../../component-base/metrics.ts';
import type { ClusterEvent } from '../framework/plugin.ts';

export type WaitingIn = 'active' | 'backoff' | 'unschedulable' | 'gated';
/** What brings a pod into one of them, by upstream's labels. */
export type QueueEvent =
  | ClusterEvent
  | 'UnschedulablePodAdd'
  | 'ScheduleAttemptFailure'
  | 'BackoffComplete'
  | 'UnschedulableTimeout';

export interface PendingPods {
  counts(): Readonly<Record<WaitingIn, number>>;
  /** How many each plugin of each profile has refused. */
  refusals(): ReadonlyMap<string, ReadonlyMap<string, number>>;
}

const declared = declareMetrics((metrics) => ({
  incoming: metrics.counter(
    'scheduler_queue_incoming_pods_total',
    'Number of pods added to scheduling queues by event and queue type.',
    ['queue', 'event'],
  ),
  pending: metrics.readGauge(
    'scheduler_pending_pods',
    "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never attempted to schedule because they are gated.",
    ['queue'],
  ),
  unschedulable: metrics.readGauge(
    'scheduler_unschedulable_pods',
    'The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all plugins that caused it to not schedule and so this metric have meaning only when broken down by plugin.',
    ['plugin', 'profile'],
  ),
}));

export const countIncoming = (metrics: MetricsRegistry, queue: WaitingIn, event: QueueEvent): void =>
  declared(metrics).incoming.inc({ queue, event });

/** The result ends it. */
export function showPending(metrics: MetricsRegistry, pods: PendingPods): () => void {
  const { pending, unschedulable } = declared(metrics);
  const ends = [
    pending.add(() => Object.entries(pods.counts()).map(([queue, count]) => [{ queue }, count])),
    unschedulable.add(() =>
      [...pods.refusals()].flatMap(([profile, counts]) =>
        [...counts].map(([plugin, count]) => [{ plugin, profile }, count] as const),
      ),
    ),
  ];
  return () => {
    for (const end of ends) end();
  };
}
