// What is shown at /metrics of what was counted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from './metrics.ts';

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
