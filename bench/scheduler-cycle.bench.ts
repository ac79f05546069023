// How many pods a second the scheduling cycle alone places on 5,000 nodes (no API server; upstream's SchedulingBasic).
import { createMetrics } from '../src/component-base/metrics.ts';
import { systemClock } from '../src/component-base/system-clock.ts';
import { systemRandom } from '../src/component-base/system-random.ts';
import { SchedulerCache } from '../src/scheduler/cache.ts';
import { Framework } from '../src/scheduler/framework/framework.ts';
import { FrameworkMetrics } from '../src/scheduler/framework/framework-metrics.ts';
import { schedulePod } from '../src/scheduler/scheduling-cycle.ts';
import { makeNode, makePod } from '../src/scheduler/testing/builders.ts';
import { usualPoints } from '../src/scheduler/testing/plugin-deps.ts';
import type { Bench } from './bench.ts';

function podsPerSecond(nodes: number, pods: number): number {
  const cache = new SchedulerCache();
  for (let i = 0; i < nodes; i++)
    cache.setNode(makeNode(`node-${i}`, { cpu: '4', memory: '32Gi', labels: { zone: `z${i % 3}` } }));
  const metrics = new FrameworkMetrics(createMetrics(), systemClock, 'bench');
  const framework = new Framework(usualPoints(), metrics);
  const queue = Array.from({ length: pods }, (_, i) => makePod(`pod-${i}`, { cpu: '100m', memory: '500Mi' }));
  let startAt = 0;
  const from = performance.now();
  for (const pod of queue) {
    const result = schedulePod(pod, cache.snapshot(), { framework, random: systemRandom, startAt });
    startAt = result.nextStart;
    if (!result.fits) throw new Error(`${pod.metadata.name} found no node`);
    cache.assume(pod, result.node);
  }
  return (pods / (performance.now() - from)) * 1000;
}

export const bench: Bench = {
  name: 'scheduler-cycle',
  question: 'how many pods a second does the scheduling cycle place?',
  run: () =>
    Promise.resolve([
      { what: '100 nodes, 3,000 pods', value: podsPerSecond(100, 3_000), unit: 'pods/s' },
      {
        what: '5,000 nodes, 10,000 pods',
        value: podsPerSecond(5_000, 10_000),
        unit: 'pods/s',
        aim: { value: 1_000, better: 'higher' as const },
      },
    ]),
};
