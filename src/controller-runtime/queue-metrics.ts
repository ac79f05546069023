// What work queues tell of themselves, by client-go's names.
import {
  type Count,
  declareMetrics,
  exponentialBuckets,
  type MetricsRegistry,
  type Observed,
  type ReadValues,
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

const buckets = exponentialBuckets(1e-8, 10, 10);
const labels = ['name'];

/** Of each name, as several queues may have one: those of the certificate controllers do, as upstream's. */
class Shown {
  readonly #byName = new Map<string, Set<QueueState>>();

  /** The result ends that. */
  add(name: string, queue: QueueState): () => void {
    const queues = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, queues.add(queue));
    return () => {
      queues.delete(queue);
      if (queues.size === 0) this.#byName.delete(name);
    };
  }

  read(of: (queues: readonly QueueState[]) => number): ReadValues {
    return () => this.#byName.entries().map(([name, queues]) => [{ name }, of([...queues])] as const);
  }
}

const secondsOf = (queues: readonly QueueState[]): number[] =>
  queues.flatMap((queue) => queue.workingMs().map((ms) => ms / 1000));
const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0);

const shownIn = declareMetrics((metrics) => {
  const shown = new Shown();
  metrics.readGauge(
    'workqueue_depth',
    'Current depth of workqueue',
    labels,
    shown.read((queues) => sum(queues.map(({ depth }) => depth))),
  );
  metrics.readGauge(
    'workqueue_unfinished_work_seconds',
    "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
    labels,
    shown.read((queues) => sum(secondsOf(queues))),
  );
  metrics.readGauge(
    'workqueue_longest_running_processor_seconds',
    'How many seconds has the longest running processor for workqueue been running.',
    labels,
    shown.read((queues) => Math.max(0, ...secondsOf(queues))),
  );
  return shown;
});

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
}));

/** `name` is upstream's of the queue. */
export function queueMetrics(metrics: MetricsRegistry, name: string): QueueMetrics {
  const { adds, retries, waiting, working } = declared(metrics);
  const of = { name };
  return {
    added: adds.of(of),
    retried: retries.of(of),
    waited: waiting.of(of),
    worked: working.of(of),
    show: (queue) => shownIn(metrics).add(name, queue),
  };
}
