// What is counted of the runtime's answers and failures.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import type { Cri } from '../../rpc-api/cri.ts';
import { instrumentedCri } from './instrumented-cri.ts';

test('each operation is counted and timed by its name, and its failures as well', async () => {
  const clock = new FakeClock();
  const metrics = createMetrics();
  const answers: Partial<Cri['runtime']> = {
    version: async () => {
      clock.advance(3000);
      return { runtimeName: 'x' };
    },
    runPodSandbox: () => Promise.reject(new Error('no network')),
    createContainer: async () => 'c1',
  };
  const images: Partial<Cri['images']> = { pullImage: async () => 'sha256:1' };
  const cri = instrumentedCri({ runtime: answers, images } as Cri, {
    metrics,
    clock,
    typeOf: ({ metadata }) => (metadata?.name === 'first' ? 'init_container' : 'container'),
  });
  assert.deepEqual(await cri.runtime.version(), { runtimeName: 'x' });
  await assert.rejects(cri.runtime.runPodSandbox({}, 'kata'), { message: 'no network' });
  assert.equal(await cri.runtime.createContainer('s', { metadata: { name: 'first' } }, {}), 'c1');
  await cri.images.pullImage({ image: 'i' }, undefined, undefined);
  const { text } = await metrics.text();
  for (const line of [
    'kubelet_runtime_operations_total{operation_type="version"} 1',
    'kubelet_runtime_operations_duration_seconds_sum{operation_type="version"} 3',
    'kubelet_runtime_operations_total{operation_type="run_podsandbox"} 1',
    'kubelet_runtime_operations_errors_total{operation_type="run_podsandbox"} 1',
    'kubelet_run_podsandbox_errors_total{runtime_handler="kata"} 1',
    'kubelet_run_podsandbox_duration_seconds_count{runtime_handler="kata"} 1',
    'kubelet_started_pods_total 1',
    'kubelet_started_pods_errors_total 1',
    'kubelet_started_containers_total{container_type="init_container"} 1',
    'kubelet_runtime_operations_total{operation_type="pull_image"} 1',
  ])
    assert.ok(text.split('\n').includes(line), `${line}\n${text}`);
  assert.doesNotMatch(text, /errors_total\{operation_type="version"\}/);
});
