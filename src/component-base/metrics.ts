// Metrics in Prometheus' text form, with upstream's names.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { version } from './version.ts';

export interface MetricsRegistry {
  counter(name: string, help: string, labels: readonly string[]): CounterMetric;
  gauge(name: string, help: string, labels: readonly string[]): GaugeMetric;
  /** Of values that are looked up when somebody asks. */
  readGauge(
    name: string,
    help: string,
    labels: readonly string[],
    read: () => Iterable<readonly [Labels, number]>,
  ): void;
  histogram(
    name: string,
    help: string,
    labels: readonly string[],
    buckets: readonly number[],
  ): HistogramMetric;
  /** The text of /metrics and its media type. */
  text(): Promise<{ readonly text: string; readonly contentType: string }>;
}
export type Labels = Readonly<Record<string, string>>;
export interface CounterMetric {
  inc(labels: Labels, by?: number): void;
  /** What it counted is gone for good. */
  remove(labels: Labels): void;
}
export interface GaugeMetric {
  set(labels: Labels, value: number): void;
}
export interface HistogramMetric {
  observe(labels: Labels, value: number): void;
  remove(labels: Labels): void;
}

const buildInfo = {
  major: version.major,
  minor: version.minor,
  git_version: version.gitVersion,
  git_commit: version.gitCommit,
  git_tree_state: version.gitTreeState,
  build_date: version.buildDate,
  go_version: version.goVersion,
  compiler: version.compiler,
  platform: version.platform,
};

/** What every process tells of itself. */
function aboutProcess(register: Registry): void {
  collectDefaultMetrics({ register });
  new Gauge({
    name: 'kubernetes_build_info',
    help: "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
    labelNames: Object.keys(buildInfo),
    registers: [register],
  }).set(buildInfo, 1);
}

export function createMetrics(options: { readonly processMetrics?: boolean } = {}): MetricsRegistry {
  const registry = new Registry();
  if (options.processMetrics) aboutProcess(registry);
  const base = (name: string, help: string, labels: readonly string[]) => ({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
  });
  return {
    counter(name, help, labels) {
      const metric = new Counter(base(name, help, labels));
      return { inc: (values, by = 1) => metric.inc(values, by), remove: (values) => metric.remove(values) };
    },
    gauge(name, help, labels) {
      const metric = new Gauge(base(name, help, labels));
      return { set: (values, value) => metric.set(values, value) };
    },
    readGauge(name, help, labels, read) {
      const collect = function (this: Gauge): void {
        this.reset();
        for (const [values, value] of read()) this.set(values, value);
      };
      new Gauge({ ...base(name, help, labels), collect });
    },
    histogram(name, help, labels, buckets) {
      const metric = new Histogram({ ...base(name, help, labels), buckets: [...buckets] });
      return {
        observe: (values, value) => metric.observe(values, value),
        remove: (values) => metric.remove(values),
      };
    },
    text: async () => ({ text: await registry.metrics(), contentType: registry.contentType }),
  };
}
