// Metrics in Prometheus' text form, with upstream's names.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface MetricsRegistry {
  counter(name: string, help: string, labels: readonly string[]): CounterMetric;
  gauge(name: string, help: string, labels: readonly string[]): GaugeMetric;
  /** Of one value that is looked up when somebody asks. */
  readGauge(name: string, help: string, labels: Labels, read: () => number): void;
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
}
export interface GaugeMetric {
  set(labels: Labels, value: number): void;
}
export interface HistogramMetric {
  observe(labels: Labels, value: number): void;
}

export function createMetrics(options: { readonly processMetrics?: boolean } = {}): MetricsRegistry {
  const registry = new Registry();
  if (options.processMetrics) collectDefaultMetrics({ register: registry });
  const base = (name: string, help: string, labels: readonly string[]) => ({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
  });
  return {
    counter(name, help, labels) {
      const metric = new Counter(base(name, help, labels));
      return { inc: (values, by = 1) => metric.inc(values, by) };
    },
    gauge(name, help, labels) {
      const metric = new Gauge(base(name, help, labels));
      return { set: (values, value) => metric.set(values, value) };
    },
    readGauge(name, help, labels, read) {
      const collect = function (this: Gauge): void {
        this.set(labels, read());
      };
      new Gauge({ ...base(name, help, Object.keys(labels)), collect });
    },
    histogram(name, help, labels, buckets) {
      const metric = new Histogram({ ...base(name, help, labels), buckets: [...buckets] });
      return { observe: (values, value) => metric.observe(values, value) };
    },
    text: async () => ({ text: await registry.metrics(), contentType: registry.contentType }),
  };
}
