// What work queues tell of themselves, by client-go's names.
import {
  type Count,
  declareMetrics,
  exponentialBuckets,
  type MetricsRegistry,
  type Observed,
} from '../component-base/metrics.ts';

/** As it is now. */
export interface QueueState {
  readonly depth: number;
  /** How long each that is worked on has been. */
  workingMs(): readonly number[];
}

export interface QueueMetrics {
  readonly added: Count;
  readonly retried: Count;
  /** In seconds. */
  readonly waited: Observed;
  readonly worked: Observed;
  /** Asked from now on; the result ends that. */
  show(queue: QueueState): () => void;
}

const buckets = exponentialBuckets(1e-6, 10, 10);
const labels = ['name'];

const declared = declareMetrics((metrics) => ({
  adds: metrics.counter('workqueue_adds_total', 'Total number of adds handled by workqueue', labels),
  retries: metrics.counter('workqueue_retries_total', 'Total number of retries handled by workqueue', labels),
  waiting: metrics.histogram(
    'workqueue_queue_duration_seconds',
    'How long in seconds an item stays in workqueue before being requested.',
    labels,
    buckets,
  ),
  working: metrics.histogram(
    'workqueue_work_duration_seconds',
    'How long in seconds processing an item from workqueue takes.',
    labels,
    buckets,
  ),
  depth: metrics.readGauge('workqueue_depth', 'Current depth of workqueue', labels),
  unfinished: metrics.readGauge(
    'workqueue_unfinished_work_seconds',
    "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
    labels,
  ),
  longest: metrics.readGauge(
    'workqueue_longest_running_processor_seconds',
    'How many seconds has the longest running processor for workqueue been running.',
    labels,
  ),
}));

/** `name` is upstream's of the queue. */
export function queueMetrics(metrics: MetricsRegistry, name: string): QueueMetrics {
  const { adds, retries, waiting, working, depth, unfinished, longest } = declared(metrics);
  const of = { name };
  return {
    added: adds.of(of),
    retried: retries.of(of),
    waited: waiting.of(of),
    worked: working.of(of),
    show(queue) {
      const seconds = (): number[] => queue.workingMs().map((ms) => ms / 1000);
      const ends = [
        depth.add(() => [[of, queue.depth]]),
        unfinished.add(() => [[of, seconds().reduce((sum, one) => sum + one, 0)]]),
        longest.add(() => [[of, Math.max(0, ...seconds())]]),
      ];
      return () => {
        for (const end of ends) end();
      };
    },
  };
}
