// In-place resize on a simulated node: what the kubelet gives, what waits, what it never gives, and what it tells of all that.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { events, nodes, pods } from '../../src/api/generated/resources.ts';
import type { Pod, ResourceRequirements } from '../../src/api/generated/types/core-v1.ts';
import { admin, startTestServer } from '../../src/apiserver/testing/test-server.ts';
import type { Client } from '../../src/client/client.ts';
import { createClient } from '../../src/client/create-client.ts';
import { inProcessTransport } from '../../src/client/transport-in-process.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { createLinuxNodeOs } from '../../src/kubelet/node-os/linux.ts';
import { createSimulatedCri, simulatedLabels } from '../../src/kubelet/simulated/simulated-cri.ts';
import type { Cri } from '../../src/rpc-api/cri.ts';
import type { LinuxContainerResources } from '../../src/rpc-api/generated/cri-v1.ts';
import { eventually } from '../harness/eventually.ts';
import { createNodeNamespaces } from '../harness/node-namespaces.ts';
import { startSimulatedKubelet } from '../harness/simulated-kubelet.ts';

const nodeOs = createLinuxNodeOs({ osImage: 'Simulated', kernelVersion: '0', labels: simulatedLabels });
const key = (name: string) => ({ name, namespace: 'default' });

interface Node {
  readonly client: Client;
  readonly cri: Cri;
  /** Tells the machine's processors. */
  readonly cpus: number;
  restart(): Promise<void>;
}

async function simulatedNode(t: TestContext, cri: Cri): Promise<Node> {
  const server = await startTestServer();
  t.after(() => server.close());
  const client = createClient(inProcessTransport((request) => server.api.handle(request), admin));
  await createNodeNamespaces(client);
  let stop = await startSimulatedKubelet({ client, cri, nodeOs });
  t.after(() => stop());
  const cpus = await eventually(async () => {
    const { status } = await client.get(nodes, { name: 'node-1' });
    const found = Number(status?.allocatable?.['cpu']);
    assert.ok(found > 0);
    return found;
  });
  const restart = async (): Promise<void> => {
    await stop();
    stop = await startSimulatedKubelet({ client, cri, nodeOs });
  };
  return { client, cri, cpus, restart };
}

const simulatedCri = (): Cri =>
  createSimulatedCri({
    clock: systemClock,
    random: systemRandom,
    podCidr: async () => '10.244.7.0/28',
    version: '1',
  });

type Container = Partial<Pod['spec']['containers'][number]>;
const podOf = (name: string, resources: ResourceRequirements, more: Container = {}, priority?: number) => ({
  metadata: { name, namespace: 'default' },
  spec: {
    nodeName: 'node-1',
    ...(priority === undefined ? {} : { priority }),
    containers: [{ name: 'main', image: 'example.com/x:1', resources, ...more }],
  },
});
const cpu = (requests: string, limits?: string): ResourceRequirements => ({
  requests: { cpu: requests },
  ...(limits === undefined ? {} : { limits: { cpu: limits } }),
});
const get = (client: Client, name: string): Promise<Pod> => client.get(pods, key(name));
const running = (client: Client, ...names: string[]): Promise<void> =>
  eventually(async () => {
    for (const name of names) assert.equal((await get(client, name)).status?.phase, 'Running');
  });
const resize = (client: Client, name: string, resources: ResourceRequirements): Promise<Pod> =>
  client.patch(
    pods,
    key(name),
    { type: 'strategic', body: { spec: { containers: [{ name: 'main', resources }] } } },
    { subresource: 'resize' },
  );
const conditionOf = ({ status }: Pod, type: string) => status?.conditions?.find((c) => c.type === type);
const told = ({ status }: Pod) => {
  const [main] = status?.containerStatuses ?? [];
  return [main?.allocatedResources, main?.resources, main?.restartCount];
};
async function inRuntime({ cri }: Node, name: string): Promise<LinuxContainerResources | undefined | null> {
  const labelSelector = { 'io.kubernetes.pod.name': name };
  const listed = await cri.runtime.listContainers({ labelSelector });
  const ids = listed.filter(({ state }) => state === 'CONTAINER_RUNNING').map(({ id = '' }) => id);
  assert.equal(ids.length, 1);
  return (await cri.runtime.containerStatus(ids[0]!)).resources?.linux;
}
async function eventsOf(client: Client, name: string): Promise<string[]> {
  const { items } = await client.list(events, { namespace: 'default' });
  return items
    .filter((event) => event.involvedObject.name === name && /Resize|Killing/.test(event.reason ?? ''))
    .map((event) => `${event.reason}: ${event.message}`);
}

test('what runs gets what it asks for without starting anew, and its status follows', async (t) => {
  const node = await simulatedNode(t, simulatedCri());
  const { client } = node;
  await client.create(
    pods,
    podOf('web', { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m', memory: '64Mi' } }),
  );
  await running(client, 'web');
  const wanted = { requests: { cpu: '200m', memory: '64Mi' }, limits: { cpu: '400m', memory: '128Mi' } };
  const { generation } = (await resize(client, 'web', wanted)).metadata;
  await eventually(async () => {
    const pod = await get(client, 'web');
    assert.deepEqual(told(pod), [wanted.requests, wanted, 0]);
    assert.equal(conditionOf(pod, 'PodResizeInProgress'), undefined);
    assert.equal(pod.status?.observedGeneration, generation);
  });
  const has = await inRuntime(node, 'web');
  assert.deepEqual(
    [has?.cpuShares, has?.cpuQuota, has?.memoryLimitInBytes],
    [204, 40_000, 128 * 1024 * 1024],
  );
  const summary = `{"containers":[{"name":"main","resources":{"limits":{"cpu":"400m","memory":"128Mi"},"requests":{"cpu":"200m","memory":"64Mi"}}}],"generation":${generation}}`;
  await eventually(async () =>
    assert.deepEqual(await eventsOf(client, 'web'), [
      `ResizeStarted: Pod resize started: ${summary}`,
      `ResizeCompleted: Pod resize completed: ${summary}`,
    ]),
  );
});

test('a container that says so of a resource starts anew when that changes, and only then', async (t) => {
  const node = await simulatedNode(t, simulatedCri());
  const { client } = node;
  const resizePolicy = [
    { resourceName: 'cpu', restartPolicy: 'NotRequired' },
    { resourceName: 'memory', restartPolicy: 'RestartContainer' },
  ];
  const both = (milli: number, mebi: number): ResourceRequirements => ({
    requests: { cpu: `${milli}m`, memory: `${mebi}Mi` },
    limits: { cpu: `${milli}m`, memory: `${mebi}Mi` },
  });
  await client.create(pods, podOf('web', both(100, 64), { resizePolicy }));
  await running(client, 'web');
  await resize(client, 'web', both(200, 64));
  await eventually(async () =>
    assert.deepEqual(told(await get(client, 'web')), [both(200, 64).requests, both(200, 64), 0]),
  );
  await resize(client, 'web', both(200, 32));
  await eventually(async () => {
    const pod = await get(client, 'web');
    assert.deepEqual(told(pod), [both(200, 32).requests, both(200, 32), 1]);
    assert.equal(conditionOf(pod, 'PodResizeInProgress'), undefined);
  });
  assert.equal((await inRuntime(node, 'web'))?.memoryLimitInBytes, 32 * 1024 * 1024);
  await eventually(async () =>
    assert.ok((await eventsOf(client, 'web')).includes('Killing: Container main resize requires restart')),
  );
});

test('what does not fit beside the others waits for room, the most important first; what fits never is told so', async (t) => {
  const node = await simulatedNode(t, simulatedCri());
  const { client, cpus } = node;
  const half = `${cpus * 500}m`;
  const most = `${cpus * 1000 - 100}m`;
  await client.create(pods, podOf('other', cpu(half)));
  await client.create(pods, podOf('low', cpu('50m')));
  await client.create(pods, podOf('high', cpu('50m'), {}, 1000));
  await running(client, 'other', 'low', 'high');
  await resize(client, 'low', cpu(most));
  await resize(client, 'high', cpu(most));
  const capacity = cpus * 1000;
  const waits = (name: string): Promise<void> =>
    eventually(async () => {
      const pod = await get(client, name);
      const { reason, message, observedGeneration } = conditionOf(pod, 'PodResizePending') ?? {};
      const used = cpus * 500 + 50;
      assert.deepEqual(
        [reason, message, observedGeneration],
        [
          'Deferred',
          `Node didn't have enough resource: cpu, requested: ${capacity - 100}, used: ${used}, capacity: ${capacity}`,
          pod.metadata.generation,
        ],
      );
      assert.deepEqual(told(pod), [{ cpu: '50m' }, cpu('50m'), 0]);
    });
  await Promise.all([waits('low'), waits('high')]);
  await client.delete(pods, key('other'), { gracePeriodSeconds: 0 });
  await eventually(async () => {
    const pod = await get(client, 'high');
    assert.deepEqual(told(pod), [{ cpu: most }, cpu(most), 0]);
    assert.equal(conditionOf(pod, 'PodResizePending'), undefined);
  });
  assert.equal(conditionOf(await get(client, 'low'), 'PodResizePending')?.reason, 'Deferred');
  await resize(client, 'low', cpu(String(cpus + 1)));
  await eventually(async () => {
    const { reason, message } = conditionOf(await get(client, 'low'), 'PodResizePending') ?? {};
    assert.deepEqual(
      [reason, message],
      [
        'Infeasible',
        `Node didn't have enough capacity: cpu, requested: ${capacity + 1000}, capacity: ${capacity}`,
      ],
    );
  });
  // What it goes back to it has: nothing is waited for.
  await resize(client, 'low', cpu('50m'));
  await eventually(async () =>
    assert.equal(conditionOf(await get(client, 'low'), 'PodResizePending'), undefined),
  );
  await eventually(async () =>
    assert.deepEqual(
      (await eventsOf(client, 'low')).map((event) => event.split(':', 2).join(':')),
      ['ResizeDeferred: Pod resize Deferred', 'ResizeInfeasible: Pod resize Infeasible'],
    ),
  );
});

test('a kubelet that starts again goes on with what was given, and judges what came meanwhile', async (t) => {
  const node = await simulatedNode(t, simulatedCri());
  const { client, cpus } = node;
  await client.create(pods, podOf('other', cpu(`${cpus * 500}m`)));
  await client.create(pods, podOf('web', cpu('100m')));
  await running(client, 'other', 'web');
  const most = cpu(`${cpus * 1000 - 100}m`);
  await resize(client, 'web', most);
  const waits = (): Promise<void> =>
    eventually(async () => {
      const pod = await get(client, 'web');
      assert.equal(conditionOf(pod, 'PodResizePending')?.reason, 'Deferred');
      assert.deepEqual(told(pod), [{ cpu: '100m' }, cpu('100m'), 0]);
    });
  await waits();
  await node.restart();
  await waits();
  assert.equal((await inRuntime(node, 'web'))?.cpuShares, 102);
  await resize(client, 'other', cpu('10m'));
  await eventually(async () => assert.deepEqual(told(await get(client, 'web')), [most.requests, most, 0]));
  await eventually(async () =>
    assert.equal((await inRuntime(node, 'web'))?.cpuShares, Math.trunc((cpus * 1000 - 100) * 1.024)),
  );
});

test('a runtime that refuses is told of and asked again', async (t) => {
  const cri = simulatedCri();
  let refuses = true;
  const failing: Cri = {
    ...cri,
    runtime: {
      ...cri.runtime,
      updateContainerResources: (id, linux) => {
        if (refuses) throw new Error('no such luck');
        return cri.runtime.updateContainerResources(id, linux);
      },
    },
  };
  const { client } = await simulatedNode(t, failing);
  await client.create(pods, podOf('web', cpu('100m')));
  await running(client, 'web');
  await resize(client, 'web', cpu('200m'));
  await eventually(async () => {
    const pod = await get(client, 'web');
    const { reason, message } = conditionOf(pod, 'PodResizeInProgress') ?? {};
    assert.deepEqual([reason, message], ['Error', 'no such luck']);
    // It is set aside, and not there yet.
    assert.deepEqual(told(pod), [{ cpu: '200m' }, cpu('100m'), 0]);
  });
  refuses = false;
  await eventually(async () => {
    const pod = await get(client, 'web');
    assert.equal(conditionOf(pod, 'PodResizeInProgress'), undefined);
    assert.deepEqual(told(pod), [{ cpu: '200m' }, cpu('200m'), 0]);
  });
});
