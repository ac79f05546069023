// What a kubelet tells of itself while a pod comes, runs and goes, by upstream's names.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { pods } from '../../src/api/generated/resources.ts';
import { admin, startTestServer } from '../../src/apiserver/testing/test-server.ts';
import type { Client } from '../../src/client/client.ts';
import { createClient } from '../../src/client/create-client.ts';
import { inProcessTransport } from '../../src/client/transport-in-process.ts';
import { createMetrics, type MetricsRegistry } from '../../src/component-base/metrics.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { createLinuxNodeOs } from '../../src/kubelet/node-os/linux.ts';
import { createSimulatedCri } from '../../src/kubelet/simulated/simulated-cri.ts';
import { eventually } from '../harness/eventually.ts';
import { readExposition } from '../harness/exposition.ts';
import { createNodeNamespaces } from '../harness/node-namespaces.ts';
import { startSimulatedKubelet } from '../harness/simulated-kubelet.ts';

async function startNode(t: TestContext): Promise<{ client: Client; metrics: MetricsRegistry }> {
  const server = await startTestServer();
  const client = createClient(inProcessTransport((request) => server.api.handle(request), admin));
  await createNodeNamespaces(client);
  const metrics = createMetrics();
  const podCidr = async (): Promise<string> => '10.244.7.0/29';
  const cri = createSimulatedCri({ clock: systemClock, random: systemRandom, podCidr, version: '1' });
  const nodeOs = createLinuxNodeOs({ osImage: 'Simulated', kernelVersion: '0' });
  const stop = await startSimulatedKubelet({ client, cri, nodeOs, metrics });
  t.after(async () => {
    await stop();
    await server.close();
  });
  return { client, metrics };
}

const tells = (metrics: MetricsRegistry, lines: readonly string[]): Promise<void> =>
  eventually(async () => {
    const { text } = await metrics.text();
    readExposition(text);
    for (const line of lines) assert.ok(text.split('\n').includes(line), `${line} in\n${text}`);
  });

test('the kubelet counts what runs, what it started, and how long that took', async (t) => {
  const { client, metrics } = await startNode(t);
  await tells(metrics, ['kubelet_node_name{node="node-1"} 1', 'kubelet_running_pods 0']);
  const init = { name: 'init', image: 'example.com/x:1', restartPolicy: 'Always' };
  await client.create(pods, {
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      nodeName: 'node-1',
      initContainers: [init],
      containers: [{ name: 'main', image: 'example.com/x:1' }],
    },
  });
  await tells(metrics, [
    'kubelet_running_pods 1',
    'kubelet_running_containers{container_state="running"} 2',
    'kubelet_running_containers{container_state="exited"} 0',
    'kubelet_pod_start_duration_seconds_count 1',
    'kubelet_pod_worker_duration_seconds_count{operation_type="create"} 1',
    'kubelet_started_pods_total 1',
    'kubelet_started_containers_total{container_type="container"} 1',
    'kubelet_started_containers_total{container_type="init_container"} 1',
    'kubelet_runtime_operations_total{operation_type="run_podsandbox"} 1',
  ]);
  const { text } = await metrics.text();
  for (const name of ['pleg_relist_duration_seconds', 'pod_status_sync_duration_seconds'])
    assert.match(text, new RegExp(`^kubelet_${name}_count [1-9]`, 'm'));
  await client.delete(pods, { name: 'web', namespace: 'default' }, { gracePeriodSeconds: 1 });
  await tells(metrics, ['kubelet_running_pods 0', 'kubelet_running_containers{container_state="running"} 0']);
  for (const kind of ['update', 'sync'])
    assert.match(
      (await metrics.text()).text,
      new RegExp(`^kubelet_pod_worker_duration_seconds_count\\{operation_type="${kind}"\\} [1-9]`, 'm'),
    );
});
