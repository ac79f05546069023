// Reads what /metrics answers as strictly as Prometheus does, and throws at what a scraper would refuse or count wrongly.
import assert from 'node:assert/strict';

export interface Family {
  readonly type: string;
  readonly help: string;
  /** Values by the sample's name and labels as written: `a_total{x="1"}`. */
  readonly samples: Map<string, number>;
}

const header = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/;
/** With the time of day when it was so, or without. */
const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: -?\d+)?$/;
const label = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/;
const types: readonly string[] = ['counter', 'gauge', 'histogram', 'summary', 'untyped'];

function labelsOf(text: string): Map<string, string> {
  const labels = new Map<string, string>();
  for (let rest = text; rest !== ''; ) {
    const [whole, name, value] = label.exec(rest) ?? assert.fail(`no labels: ${text}`);
    assert.ok(!labels.has(name!), `${name} twice: ${text}`);
    labels.set(name!, value!);
    rest = rest.slice(whole.length);
  }
  return labels;
}

function numberOf(text: string): number {
  const value = text === '+Inf' ? Number.POSITIVE_INFINITY : Number(text);
  assert.ok(text === 'NaN' || !Number.isNaN(value), `no value: ${text}`);
  return value;
}

interface Buckets {
  /** In the order in which they were told. */
  readonly counts: [le: number, count: number][];
  count?: number;
  hasSum?: boolean;
}

/** Buckets count upwards to infinity, where all are; a sum and a count are there. */
function checkHistogram(name: string, { samples }: Family): void {
  const all = new Map<string, Buckets>();
  for (const [line, value] of samples) {
    const [, suffixed = '', text = ''] = sample.exec(`${line} 0`)!;
    const { le, ...labels } = Object.fromEntries(labelsOf(text));
    const key = JSON.stringify(labels);
    const one = all.get(key) ?? { counts: [] };
    all.set(key, one);
    const suffix = suffixed.slice(name.length);
    if (suffix === '_bucket') one.counts.push([numberOf(le ?? ''), value]);
    else if (suffix === '_count') one.count = value;
    else if (suffix === '_sum') one.hasSum = true;
    else assert.fail(`${line} is no part of a histogram`);
  }
  for (const [labels, { count, counts, hasSum }] of all) {
    const where = `${name}${labels}`;
    assert.ok(hasSum, `${where} has no sum`);
    assert.deepEqual(counts.at(-1), [Number.POSITIVE_INFINITY, count], `${where}: the last bucket has all`);
    for (const [i, [le, inBucket]] of counts.entries()) {
      if (i === 0) continue;
      assert.ok(le > counts[i - 1]![0], `${where}: bounds go up`);
      assert.ok(inBucket >= counts[i - 1]![1], `${where}: buckets count what is in those below`);
    }
  }
}

/** In whatever order labels are written, with or without empty ones, and whatever time is told: it is one series, and a scrape takes one sample of it. */
function seriesOf(name: string, labels: string): string {
  const told = [...labelsOf(labels)].filter(([, value]) => value !== '');
  return JSON.stringify([name, told.sort()]);
}

function readSample(line: string, families: ReadonlyMap<string, Family>, told: Set<string>): void {
  const [, name = '', labels = '', value = ''] = sample.exec(line) ?? assert.fail(`no sample: ${line}`);
  const family =
    families.get(name) ??
    families.get(name.replace(/_(bucket|sum|count)$/, '')) ??
    assert.fail(`without a type: ${line}`);
  const key = labels === '' ? name : `${name}{${labels}}`;
  const series = seriesOf(name, labels);
  assert.ok(!told.has(series), `told twice: ${key}`);
  told.add(series);
  const number = numberOf(value);
  if (family.type !== 'gauge') assert.ok(number >= 0, `below 0: ${line}`);
  family.samples.set(key, number);
}

/** By name. */
export function readExposition(text: string): ReadonlyMap<string, Family> {
  assert.ok(text.endsWith('\n'), 'the last line has an end');
  const families = new Map<string, Family>();
  const helps = new Map<string, string>();
  const told = new Set<string>();
  for (const line of text.split('\n')) {
    if (line === '') continue;
    if (!line.startsWith('#')) {
      readSample(line, families, told);
      continue;
    }
    const [, what, name = '', rest = ''] = header.exec(line) ?? assert.fail(`no header: ${line}`);
    if (what === 'HELP') {
      assert.ok(!helps.has(name), `${name} has two helps`);
      helps.set(name, rest);
      continue;
    }
    assert.ok(types.includes(rest), `no type: ${line}`);
    assert.ok(!families.has(name), `${name} has two types`);
    families.set(name, { type: rest, help: helps.get(name) ?? '', samples: new Map() });
  }
  for (const [name, family] of families) if (family.type === 'histogram') checkHistogram(name, family);
  return families;
}

/** The one value of a sample with at least these labels; undefined when there is none. */
export function sampleOf(
  families: ReadonlyMap<string, Family>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''));
  const found = [...(family?.samples ?? [])].filter(([line]) => {
    const [, named, text = ''] = sample.exec(`${line} 0`)!;
    const has = labelsOf(text);
    return named === name && Object.entries(labels).every(([key, value]) => has.get(key) === value);
  });
  assert.ok(found.length <= 1, `${name} of ${JSON.stringify(labels)} is told ${found.length} times`);
  return found[0]?.[1];
}
