// What is told of queues that have one name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../component-base/metrics.ts';
import { queueMetrics } from './queue-metrics.ts';

test('queues of one name are told together: the longest of all, and the sums of the rest', async () => {
  const metrics = createMetrics();
  const told = async (): Promise<readonly string[]> =>
    (await metrics.text()).text.split('\n').filter((line) => /^workqueue_(depth|unfi|longest)/.test(line));
  const { show } = queueMetrics(metrics, 'certificate');
  const endOne = show({ depth: 2, workingMs: () => [1_000, 3_000] });
  const endTwo = queueMetrics(metrics, 'certificate').show({ depth: 1, workingMs: () => [2_000] });
  assert.deepEqual(await told(), [
    'workqueue_depth{name="certificate"} 3',
    'workqueue_unfinished_work_seconds{name="certificate"} 6',
    'workqueue_longest_running_processor_seconds{name="certificate"} 3',
  ]);
  endOne();
  assert.deepEqual(await told(), [
    'workqueue_depth{name="certificate"} 1',
    'workqueue_unfinished_work_seconds{name="certificate"} 2',
    'workqueue_longest_running_processor_seconds{name="certificate"} 2',
  ]);
  endTwo();
  assert.deepEqual(await told(), []);
});
