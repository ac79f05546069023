// What is shown at /metrics of what was counted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics, declareMetrics, exponentialBuckets } from './metrics.ts';

const linesOf = async (metrics: ReturnType<typeof createMetrics>): Promise<string[]> =>
  (await metrics.text()).text.split('\n');

test('a gauge that is read shows what is there now, and nothing of what was', async () => {
  const metrics = createMetrics();
  let there: string[] = ['a', 'b'];
  metrics.readGauge('things', 'h', ['name'], () => there.map((name) => [{ name }, 1] as const));
  assert.deepEqual((await linesOf(metrics)).slice(2, 4), ['things{name="a"} 1', 'things{name="b"} 1']);
  there = ['b'];
  assert.equal((await linesOf(metrics)).includes('things{name="a"} 1'), false);
});

test('what is removed is told no more', async () => {
  const metrics = createMetrics();
  const [counter, histogram] = [metrics.counter('c', 'h', ['x']), metrics.histogram('d', 'h', ['x'], [1])];
  for (const x of ['1', '2']) {
    counter.inc({ x });
    histogram.observe({ x }, 0.5);
  }
  counter.remove({ x: '1' });
  histogram.remove({ x: '1' });
  const lines = await linesOf(metrics);
  assert.deepEqual([lines.includes('c{x="1"} 1'), lines.includes('c{x="2"} 1')], [false, true]);
  assert.deepEqual([lines.includes('d_count{x="1"} 1'), lines.includes('d_count{x="2"} 1')], [false, true]);
});

test('nothing is left of the places of what is removed', async () => {
  const metrics = createMetrics();
  const counter = metrics.counter('c', 'h', ['x', 'y']);
  for (const y of ['1', '2']) counter.inc({ x: 'a', y });
  counter.remove({ x: 'a', y: '1' });
  counter.remove({ x: 'b', y: '2' });
  counter.inc({ x: 'a', y: '2' });
  counter.inc({ x: 'a', y: '1' });
  const lines = (await linesOf(metrics)).filter((line) => line.startsWith('c{')).sort();
  assert.deepEqual(lines, ['c{x="a",y="1"} 1', 'c{x="a",y="2"} 2']);
});

test('the one of some labels counts as the whole does, and a label that is not declared is refused', async () => {
  const metrics = createMetrics();
  const counter = metrics.counter('c', 'h', ['x']);
  counter.of({ x: '1' }).inc(2);
  counter.inc({ x: '1' });
  assert.ok((await linesOf(metrics)).includes('c{x="1"} 3'));
  assert.throws(() => counter.inc({ y: '1' }), /no labels of this metric: y/);
});

test('a value on a bound is in its bucket, and one above all is in the last', async () => {
  const metrics = createMetrics();
  const histogram = metrics.histogram('d', 'h', ['x'], exponentialBuckets(1, 10, 2)).of({ x: '"\n\\' });
  for (const value of [0, 1, 10, 11]) histogram.observe(value);
  assert.deepEqual((await linesOf(metrics)).slice(2, 7), [
    'd_bucket{le="1",x="\\"\\n\\\\"} 2',
    'd_bucket{le="10",x="\\"\\n\\\\"} 3',
    'd_bucket{le="+Inf",x="\\"\\n\\\\"} 4',
    'd_sum{x="\\"\\n\\\\"} 22',
    'd_count{x="\\"\\n\\\\"} 4',
  ]);
});

test('what has no labels is there before it is counted', async () => {
  const metrics = createMetrics();
  metrics.counter('c', 'h', []);
  assert.ok((await linesOf(metrics)).includes('c 0'));
});

test('those who are asked are added up, until they end', async () => {
  const metrics = createMetrics();
  const gauge = metrics.readGauge('depth', 'h', ['name']);
  const ends = [1, 2].map((depth) => gauge.add(() => [[{ name: 'q' }, depth]]));
  assert.ok((await linesOf(metrics)).includes('depth{name="q"} 3'));
  for (const end of ends) end();
  assert.ok(!(await linesOf(metrics)).some((line) => line.startsWith('depth{')));
});

test('a component that starts again goes on with what it declared, in each registry', async () => {
  const declared = declareMetrics((metrics) => metrics.counter('c', 'h', []));
  const [one, other] = [createMetrics(), createMetrics()];
  declared(one).inc({});
  declared(one).inc({});
  declared(other).inc({});
  assert.ok((await linesOf(one)).includes('c 2'));
  assert.ok((await linesOf(other)).includes('c 1'));
});

test('a process tells what it is and what it takes', async () => {
  const lines = await linesOf(createMetrics({ processMetrics: true }));
  assert.ok(lines.some((line) => line.startsWith('kubernetes_build_info{major="1",minor="36",git_version=')));
  for (const name of [
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'process_start_time_seconds',
  ])
    assert.ok(
      lines.some((line) => line.startsWith(`${name} `)),
      name,
    );
});

test('what was not measured since it was last asked for is not told', async () => {
  const metrics = createMetrics({ processMetrics: true });
  metrics.readGauge('no_number', 'h', ['x'], () => [
    [{ x: 'a' }, Number.NaN],
    [{ x: 'b' }, 2],
  ]);
  await metrics.text();
  const lines = await linesOf(metrics);
  assert.deepEqual(
    lines.filter((line) => line.startsWith('no_number')),
    ['no_number{x="b"} 2'],
  );
  // Asked for twice at once: nothing was measured between the two.
  const lags = lines.filter((line) => line.startsWith('nodejs_eventloop_lag'));
  assert.deepEqual(
    lags.filter((line) => !(Number(line.split(' ')[1]) < 60)),
    [],
  );
  assert.equal(
    lags.some((line) => line.startsWith('nodejs_eventloop_lag_max_seconds ')),
    true,
  );
});
