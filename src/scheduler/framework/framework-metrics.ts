// How long extension points and plugins take, by upstream's names.
import type { Clock } from '../../base/clock.ts';
import {
  type Count,
  declareMetrics,
  exponentialBuckets,
  type MetricsRegistry,
  type Observed,
} from '../../component-base/metrics.ts';
import type { CycleState } from './cycle-state.ts';
import type { Plugin } from './plugin.ts';
import type { Result } from './status.ts';

export type ExtensionPoint =
  | 'PreFilter'
  | 'Filter'
  | 'PostFilter'
  | 'PreScore'
  | 'Score'
  | 'ScoreExtensionNormalize'
  | 'Reserve'
  | 'Unreserve'
  | 'Permit'
  | 'PreBind'
  | 'Bind'
  | 'PostBind';

/** Plugins are timed in one cycle of so many (upstream: pluginMetricsSamplePercent is 10). */
const sampledCycles = 10;

const declared = declareMetrics((metrics) => ({
  points: metrics.histogram(
    'scheduler_framework_extension_point_duration_seconds',
    'Latency for running all plugins of a specific extension point.',
    ['extension_point', 'status', 'profile'],
    exponentialBuckets(0.0001, 2, 12),
  ),
  plugins: metrics.histogram(
    'scheduler_plugin_execution_duration_seconds',
    'Duration for running a plugin at a specific extension point.',
    ['plugin', 'extension_point', 'status'],
    exponentialBuckets(0.00001, 1.5, 20),
  ),
  evaluations: metrics.counter(
    'scheduler_plugin_evaluation_total',
    'Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter, Filter, PreScore, and Score).',
    ['plugin', 'extension_point', 'profile'],
  ),
}));

/** Found once, as filters and scores are asked for each node. */
export interface PluginMetrics {
  readonly asked: Count;
  /** Of a cycle that is a sample. When it ended, which is when the next begins. */
  took(status: Result, beganMs: number): number;
}

const isCounted: ReadonlySet<ExtensionPoint> = new Set(['PreFilter', 'Filter', 'PreScore', 'Score']);
const uncounted: Count = { inc: () => {} };

const isResult = <R>(result: R): Result => result as Result;

export class FrameworkMetrics {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #profile: string;
  readonly #metrics: ReturnType<typeof declared>;
  #cycles = 0;

  constructor(metrics: MetricsRegistry, clock: Pick<Clock, 'monotonic'>, profile: string) {
    this.#metrics = declared(metrics);
    this.#clock = clock;
    this.#profile = profile;
  }

  /** Whether the plugins of the cycle that begins are timed. */
  takesSample(): boolean {
    return this.#cycles++ % sampledCycles === 0;
  }

  /** All plugins of one point. */
  point<R>(extension_point: ExtensionPoint, run: () => R, statusOf: (result: R) => Result = isResult): R {
    const began = this.#clock.monotonic();
    const result = run();
    this.#pointTook(extension_point, statusOf(result), began);
    return result;
  }

  async pointAsync<R>(
    extension_point: ExtensionPoint,
    run: () => Promise<R>,
    statusOf: (result: R) => Result = isResult,
  ): Promise<R> {
    const began = this.#clock.monotonic();
    const result = await run();
    this.#pointTook(extension_point, statusOf(result), began);
    return result;
  }

  /** Of what is mostly there at once. */
  pointSoon<R>(
    extension_point: ExtensionPoint,
    run: () => R | Promise<R>,
    statusOf: (result: R) => Result,
  ): R | Promise<R> {
    const began = this.#clock.monotonic();
    const ended = (result: R): R => {
      this.#pointTook(extension_point, statusOf(result), began);
      return result;
    };
    const result = run();
    return result instanceof Promise ? result.then(ended) : ended(result);
  }

  #pointTook(extension_point: ExtensionPoint, status: Result, beganMs: number): void {
    const values = { extension_point, status: status?.code ?? 'Success', profile: this.#profile };
    this.#metrics.points.observe(values, (this.#clock.monotonic() - beganMs) / 1000);
  }

  /** One plugin at one point. */
  plugin({ name: plugin }: Plugin, extension_point: ExtensionPoint): PluginMetrics {
    const { evaluations, plugins } = this.#metrics;
    const of = (status: string): Observed => plugins.of({ plugin, extension_point, status });
    const success = of('Success');
    return {
      asked: isCounted.has(extension_point)
        ? evaluations.of({ plugin, extension_point, profile: this.#profile })
        : uncounted,
      took: (status, beganMs) => {
        const now = this.#clock.monotonic();
        (status === undefined ? success : of(status.code)).observe((now - beganMs) / 1000);
        return now;
      },
    };
  }

  /** When a plugin begins; of no matter unless the cycle is a sample. */
  begins({ isSample }: CycleState): number {
    return isSample ? this.#clock.monotonic() : 0;
  }
}
