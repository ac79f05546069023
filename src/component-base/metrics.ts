// Metrics in Prometheus' text form, with upstream's names.
import type { Metric, Registry } from 'prom-client';
import { loadOnce } from '../base/load-once.ts';
import { rememberedFor } from '../base/remembered-for.ts';
import { version } from './version.ts';

export interface MetricsRegistry {
  counter(name: string, help: string, labels: readonly string[]): CounterMetric;
  gauge(name: string, help: string, labels: readonly string[]): GaugeMetric;
  /** Of values that are looked up when somebody asks. */
  readGauge(name: string, help: string, labels: readonly string[], read?: ReadValues): ReadGauge;
  histogram(
    name: string,
    help: string,
    labels: readonly string[],
    buckets: readonly number[],
  ): HistogramMetric;
  /** From now on, and not from the first text only, it is measured how the process itself does. */
  begin(): Promise<void>;
  /** The text of /metrics and its media type. */
  text(): Promise<{ readonly text: string; readonly contentType: string }>;
}
export type Labels = Readonly<Record<string, string>>;
export type ReadValues = () => Iterable<readonly [Labels, number]>;
export interface Count {
  inc(by?: number): void;
}
export interface Observed {
  observe(value: number): void;
}
export interface CounterMetric {
  inc(labels: Labels, by?: number): void;
  /** The one of these labels, for whoever counts often: it is not looked for again. */
  of(labels: Labels): Count;
  /** What it counted is gone for good. */
  remove(labels: Labels): void;
}
export interface GaugeMetric {
  set(labels: Labels, value: number): void;
}
export interface ReadGauge {
  /** One more who is asked; the result ends that. */
  add(read: ReadValues): () => void;
}
export interface HistogramMetric {
  observe(labels: Labels, value: number): void;
  of(labels: Labels): Observed;
  remove(labels: Labels): void;
}

/** Prometheus' own, for requests of a few ms up to some seconds. */
export const defaultBuckets: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** `count` buckets, each `factor` times as wide as the one before. */
export const exponentialBuckets = (start: number, factor: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => Number((start * factor ** i).toPrecision(12)));

/**
 * What a component counts, made once for each registry: one that starts again, when it leads again, goes on counting where it
 * was.
 */
export const declareMetrics = <T>(
  declare: (metrics: MetricsRegistry) => T,
): ((metrics: MetricsRegistry) => T) => rememberedFor(declare);

interface Sample {
  readonly labels: Labels;
  /** Those that many samples have: written out once. */
  readonly sharedLabels?: Labels;
  readonly value: number;
  readonly metricName?: string;
}

/** A level for each label: to walk by the values costs a third of joining them to a text. */
interface Place<T> {
  readonly next: Map<string, Place<T>>;
  one: { readonly labels: Labels; readonly value: T } | undefined;
}
const emptyPlace = <T>(): Place<T> => ({ next: new Map(), one: undefined });

/** What is counted for each set of labels. Without labels there is one from the beginning. */
class Series<T> {
  readonly #names: readonly string[];
  readonly #make: () => T;
  readonly #root: Place<T> = emptyPlace();

  constructor(names: readonly string[], make: () => T) {
    this.#names = names;
    this.#make = make;
    if (names.length === 0) this.of({});
  }

  of(labels: Labels): T {
    let place = this.#root;
    for (const name of this.#names) {
      const value = labels[name] ?? '';
      let next = place.next.get(value);
      if (next === undefined) {
        next = emptyPlace();
        place.next.set(value, next);
      }
      place = next;
    }
    place.one ??= this.#begin(labels);
    return place.one.value;
  }

  #begin(labels: Labels): { labels: Labels; value: T } {
    const unknown = Object.keys(labels).filter((name) => !this.#names.includes(name));
    if (unknown.length > 0) throw new Error(`no labels of this metric: ${unknown.join(', ')}`);
    const all = this.#names.map((name) => [name, labels[name] ?? ''] as const);
    return { labels: Object.fromEntries(all), value: this.#make() };
  }

  remove(labels: Labels): void {
    const path = this.#names.map((name) => labels[name] ?? '');
    const places = [this.#root];
    for (const value of path) {
      const next = places.at(-1)!.next.get(value);
      if (next === undefined) return;
      places.push(next);
    }
    places.at(-1)!.one = undefined;
    for (let level = path.length; level > 0 && places[level]!.next.size === 0; level--)
      places[level - 1]!.next.delete(path[level - 1]!);
  }

  *#each(place: Place<T>): Generator<{ readonly labels: Labels; readonly value: T }> {
    if (place.one !== undefined) yield place.one;
    for (const next of place.next.values()) yield* this.#each(next);
  }

  samples(of: (value: T, labels: Labels) => Iterable<Sample>): Sample[] {
    return [...this.#each(this.#root)].flatMap(({ labels, value }) => [...of(value, labels)]);
  }
}

class Amount implements Count {
  value = 0;
  inc(by = 1): void {
    this.value += by;
  }
}

class Distribution implements Observed {
  readonly #bounds: readonly number[];
  /** The last one is of what is above all bounds. */
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket++;
    this.#counts[bucket]! += 1;
    this.#sum += value;
  }

  *samples(name: string, labels: Labels): Generator<Sample> {
    let count = 0;
    for (const [i, inBucket] of this.#counts.entries()) {
      count += inBucket;
      const le = i < this.#bounds.length ? String(this.#bounds[i]) : '+Inf';
      yield { metricName: `${name}_bucket`, labels: { le }, sharedLabels: labels, value: count };
    }
    yield { metricName: `${name}_sum`, labels: {}, sharedLabels: labels, value: this.#sum };
    yield { metricName: `${name}_count`, labels: {}, sharedLabels: labels, value: count };
  }
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

interface About {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}
type Show = (type: 'counter' | 'gauge' | 'histogram', about: About, values: () => Sample[]) => void;

/** What is shown, and to whom once somebody asks. */
class Shown {
  readonly #names = new Set<string>();
  readonly #metrics: Metric[] = [];
  #registry: Registry | undefined;

  /** prom-client writes the text. Its own counters look for the labels by text each time: see ADR 41. */
  readonly show: Show = (type, { name, help }, values) => {
    if (this.#names.has(name)) throw new Error(`A metric with the name ${name} has already been registered.`);
    this.#names.add(name);
    const get = async () => ({ name, help, type, values: values(), aggregator: 'sum' });
    const metric = { name, help, type, get } as unknown as Metric;
    if (this.#registry === undefined) this.#metrics.push(metric);
    else this.#registry.registerMetric(metric);
  };

  /** Nothing of a start needs it, and it takes a twentieth of it. */
  readonly registry = loadOnce(async (): Promise<Registry> => {
    const { collectDefaultMetrics, Registry } = (await import('prom-client')).default;
    const registry = new Registry();
    if (this.#ofProcess) collectDefaultMetrics({ register: registry });
    for (const metric of this.#metrics.splice(0)) registry.registerMetric(metric);
    this.#registry = registry;
    return registry;
  });

  readonly #ofProcess: boolean;
  constructor(ofProcess: boolean) {
    this.#ofProcess = ofProcess;
  }
}

/**
 * What was not measured since it was last asked for has no sample: Node's delay of the event loop, asked for twice
 * within one of its measurements, has no mean (`Nan` in prom-client's spelling, which not every scraper reads) and the
 * greatest possible number of nanoseconds as its least.
 */
const told = (text: string): string => text.replace(unmeasured, '');
const unmeasured = /^(?:.* Nan|nodejs_eventloop_lag_min_seconds 9223372036\.\d+)\n/gm;

const amountsOf = (series: Series<Amount>): Sample[] =>
  series.samples(({ value }, labels) => [{ labels, value }]);

function counterIn(show: Show, about: About): CounterMetric {
  const series = new Series(about.labels, () => new Amount());
  show('counter', about, () => amountsOf(series));
  return {
    inc: (labels, by) => series.of(labels).inc(by),
    of: (labels) => series.of(labels),
    remove: (labels) => series.remove(labels),
  };
}

function gaugeIn(show: Show, about: About): GaugeMetric {
  const series = new Series(about.labels, () => new Amount());
  show('gauge', about, () => amountsOf(series));
  return {
    set: (labels, value) => {
      series.of(labels).value = value;
    },
  };
}

function readGaugeIn(show: Show, about: About): ReadGauge {
  const readers = new Set<ReadValues>();
  show('gauge', about, () => {
    // Without anybody to ask nothing is known.
    if (readers.size === 0) return [];
    const now = new Series(about.labels, () => new Amount());
    for (const read of readers) for (const [labels, value] of read()) now.of(labels).inc(value);
    return amountsOf(now);
  });
  return {
    add(read) {
      readers.add(read);
      return () => readers.delete(read);
    },
  };
}

function histogramIn(show: Show, about: About, bounds: readonly number[]): HistogramMetric {
  const series = new Series(about.labels, () => new Distribution(bounds));
  show('histogram', about, () => series.samples((one, labels) => one.samples(about.name, labels)));
  return {
    observe: (labels, value) => series.of(labels).observe(value),
    of: (labels) => series.of(labels),
    remove: (labels) => series.remove(labels),
  };
}

const buildInfoHelp =
  "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.";

export function createMetrics(options: { readonly processMetrics?: boolean } = {}): MetricsRegistry {
  const { processMetrics = false } = options;
  const shown = new Shown(processMetrics);
  const { show } = shown;
  if (processMetrics) {
    const about = { name: 'kubernetes_build_info', help: buildInfoHelp, labels: Object.keys(buildInfo) };
    gaugeIn(show, about).set(buildInfo, 1);
  }
  return {
    counter: (name, help, labels) => counterIn(show, { name, help, labels }),
    gauge: (name, help, labels) => gaugeIn(show, { name, help, labels }),
    readGauge(name, help, labels, read) {
      const gauge = readGaugeIn(show, { name, help, labels });
      if (read !== undefined) gauge.add(read);
      return gauge;
    },
    histogram: (name, help, labels, buckets) => histogramIn(show, { name, help, labels }, buckets),
    begin: async () => void (await shown.registry()),
    async text() {
      const registry = await shown.registry();
      return { text: told(await registry.metrics()), contentType: registry.contentType };
    },
  };
}
