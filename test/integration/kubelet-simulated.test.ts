// A simulated node against a real API server in process: pods come, run, end and go; nothing real is started.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { events, nodes, pods } from '../../src/api/generated/resources.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import { admin, startTestServer } from '../../src/apiserver/testing/test-server.ts';
import type { Client } from '../../src/client/client.ts';
import { createClient } from '../../src/client/create-client.ts';
import { inProcessTransport } from '../../src/client/transport-in-process.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { createLinuxNodeOs } from '../../src/kubelet/node-os/linux.ts';
import type { NodeOs } from '../../src/kubelet/node-os/node-os.ts';
import { createWindowsNodeOs } from '../../src/kubelet/node-os/windows.ts';
import { createSimulatedCri, simulatedLabels } from '../../src/kubelet/simulated/simulated-cri.ts';
import type { Cri } from '../../src/rpc-api/cri.ts';
import { eventually } from '../harness/eventually.ts';
import { createNodeNamespaces } from '../harness/node-namespaces.ts';
import { startSimulatedKubelet } from '../harness/simulated-kubelet.ts';

const machine = { clock: systemClock, random: systemRandom, log: silentLogger };
const simulatedCri = (): Cri =>
  createSimulatedCri({ ...machine, podCidr: async () => '10.244.7.0/29', version: '1' });

async function simulatedServer(t: TestContext): Promise<Client> {
  const server = await startTestServer();
  t.after(() => server.close());
  const client = createClient(inProcessTransport((request) => server.api.handle(request), admin));
  await createNodeNamespaces(client);
  return client;
}

async function simulatedNode(t: TestContext, nodeOs: NodeOs): Promise<Client> {
  const client = await simulatedServer(t);
  t.after(await startSimulatedKubelet({ client, cri: simulatedCri(), nodeOs }));
  return client;
}

const linux = createLinuxNodeOs({ osImage: 'Simulated', kernelVersion: '0', labels: simulatedLabels });
const pod = (name: string, spec: Partial<Pod['spec']> = {}, annotations: Record<string, string> = {}) => ({
  metadata: { name, namespace: 'default', annotations },
  spec: { nodeName: 'node-1', containers: [{ name: 'main', image: 'example.com/x:1' }], ...spec },
});
const get = (client: Client, name: string): Promise<Pod> => client.get(pods, { name, namespace: 'default' });

test('a simulated node becomes Ready and says what it is', async (t) => {
  const client = await simulatedNode(t, linux);
  await eventually(async () => {
    const node = await client.get(nodes, { name: 'node-1' });
    assert.equal(node.status?.conditions?.find((c) => c.type === 'Ready')?.status, 'True');
    assert.equal(node.metadata.labels?.['porthole.dev/simulated'], 'true');
    assert.equal(node.status?.nodeInfo?.containerRuntimeVersion, 'simulated://1');
  });
});

test('a pod runs with an address of the pod CIDR, is Ready, and goes when it is deleted', async (t) => {
  const client = await simulatedNode(t, linux);
  await client.create(pods, pod('web'));
  await eventually(async () => {
    const { status } = await get(client, 'web');
    assert.equal(status?.phase, 'Running');
    assert.equal(status?.conditions?.find((c) => c.type === 'Ready')?.status, 'True');
    assert.match(status?.podIP ?? '', /^10\.244\.7\.[2-6]$/);
  });
  await client.delete(pods, { name: 'web', namespace: 'default' });
  await eventually(() => assert.rejects(get(client, 'web'), /not found/));
});

test('a pod with a readiness gate is Ready as long as whoever keeps the gate says so', async (t) => {
  const client = await simulatedNode(t, linux);
  const conditionType = 'example.com/open';
  const ready = (status: string, message?: string): Promise<void> =>
    eventually(async () => {
      const { conditions = [] } = (await get(client, 'web')).status ?? {};
      const condition = conditions.find(({ type }) => type === 'Ready');
      assert.deepEqual([condition?.status, condition?.message], [status, message]);
    });
  const gate = (status: 'True' | 'False'): Promise<Pod> => {
    const body = { status: { conditions: [{ type: conditionType, status }] } };
    const key = { name: 'web', namespace: 'default' };
    return client.patch(pods, key, { type: 'strategic', body }, { subresource: 'status' });
  };
  await client.create(pods, pod('web', { readinessGates: [{ conditionType }] }));
  await ready('False', `corresponding condition of pod readiness gate "${conditionType}" does not exist.`);
  await gate('True');
  await ready('True');
  await gate('False');
  await ready('False', `the status of pod readiness gate "${conditionType}" is not "True", but False`);
});

test('a pod whose made-up program ends is Succeeded, or Failed by its code', async (t) => {
  const client = await simulatedNode(t, linux);
  const ends = (code: string) => ({
    'porthole.dev/simulated-run-seconds': '0',
    'porthole.dev/simulated-exit-code': code,
  });
  await client.create(pods, pod('good', { restartPolicy: 'Never' }, ends('0')));
  await client.create(pods, pod('bad', { restartPolicy: 'Never' }, ends('3')));
  await eventually(async () => {
    assert.equal((await get(client, 'good')).status?.phase, 'Succeeded');
    const bad = (await get(client, 'bad')).status;
    assert.equal(bad?.phase, 'Failed');
    assert.equal(bad?.containerStatuses?.[0]?.state?.terminated?.exitCode, 3);
  });
});

test('what others wait for ends by itself: init containers, and the pod of a Job, but no sidecar', async (t) => {
  const client = await simulatedNode(t, linux);
  const sidecar = { name: 'sidecar', image: 'example.com/x:1', restartPolicy: 'Always' };
  const initContainers = [{ name: 'init', image: 'example.com/x:1' }, sidecar];
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'hook', uid: 'u', controller: true };
  await client.create(pods, pod('web', { initContainers }));
  const hook = pod('hook', { initContainers, restartPolicy: 'OnFailure' });
  await client.create(pods, { ...hook, metadata: { ...hook.metadata, ownerReferences: [owner] } });
  const slow = pod('slow', { restartPolicy: 'Never' }, { 'porthole.dev/simulated-run-seconds': '600' });
  await client.create(pods, { ...slow, metadata: { ...slow.metadata, ownerReferences: [owner] } });
  await eventually(async () => {
    const web = (await get(client, 'web')).status;
    assert.equal(web?.conditions?.find((c) => c.type === 'Ready')?.status, 'True');
    assert.equal(web?.initContainerStatuses?.[0]?.state?.terminated?.reason, 'Completed');
    assert.ok(web?.initContainerStatuses?.[1]?.state?.running);
    assert.equal((await get(client, 'hook')).status?.phase, 'Succeeded');
    assert.equal((await get(client, 'slow')).status?.phase, 'Running');
  });
  await client.delete(pods, { name: 'slow', namespace: 'default' });
  await eventually(() => assert.rejects(get(client, 'slow'), /not found/));
});

test('a pod that must not run as root starts: of no image is it known that it would', async (t) => {
  const client = await simulatedNode(t, linux);
  await client.create(pods, pod('careful', { securityContext: { runAsNonRoot: true } }));
  await client.create(pods, pod('root', { securityContext: { runAsNonRoot: true, runAsUser: 0 } }));
  await eventually(async () => {
    assert.equal((await get(client, 'careful')).status?.phase, 'Running');
    const [refused] = (await get(client, 'root')).status?.containerStatuses ?? [];
    assert.equal(refused?.state?.waiting?.reason, 'CreateContainerConfigError');
  });
});

test('a Windows node refuses a pod for Linux with the reason PodOSNotSupported', async (t) => {
  const nodeOs = createWindowsNodeOs({
    build: 20348,
    osImage: 'Windows Server 2022 Datacenter',
    kernelVersion: '10.0.20348.4405',
    emulated: true,
    hostDrive: '/drive-c',
    labels: simulatedLabels,
  });
  const client = await simulatedNode(t, nodeOs);
  await client.create(pods, pod('penguin', { os: { name: 'linux' } }));
  await client.create(pods, pod('window', { os: { name: 'windows' } }));
  await eventually(async () => {
    const { status } = await get(client, 'penguin');
    assert.equal(status?.phase, 'Failed');
    assert.equal(status?.reason, 'PodOSNotSupported');
    assert.equal(
      status?.message,
      "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS",
    );
    // As upstream: it was never to have containers or an address.
    assert.deepEqual([status?.containerStatuses, status?.hostIP], [undefined, undefined]);
    assert.deepEqual(
      (status?.conditions ?? []).filter(({ type }) => type !== 'PodScheduled'),
      [],
    );
    assert.equal((await get(client, 'window')).status?.phase, 'Running');
    const node = await client.get(nodes, { name: 'node-1' });
    assert.equal(node.metadata.labels?.['node.kubernetes.io/windows-build'], '10.0.20348');
    assert.equal(node.spec?.taints, undefined);
    assert.equal(node.status?.nodeInfo?.osImage, 'Windows Server 2022 Datacenter (emulated by Porthole)');
  });
});

test('an agent that leaves deletes no pod whose end the API does not show yet', async (t) => {
  const server = await startTestServer();
  t.after(() => server.close());
  let refused = 0;
  let isRefusing = false;
  const client = createClient(
    inProcessTransport(async (request) => {
      const { pathname } = new URL(request.url, 'http://localhost');
      if (!isRefusing || request.method !== 'PATCH' || !pathname.endsWith('/pods/web/status'))
        return server.api.handle(request);
      refused++;
      return { status: 500, headers: {}, body: Buffer.alloc(0) };
    }, admin),
  );
  await createNodeNamespaces(client);
  const end = await startSimulatedKubelet({ client, cri: simulatedCri(), nodeOs: linux });
  await client.create(pods, pod('web'));
  await eventually(async () => assert.equal((await get(client, 'web')).status?.phase, 'Running'));
  isRefusing = true;
  await client.delete(pods, { name: 'web', namespace: 'default' }, { gracePeriodSeconds: 1 });
  await eventually(() => assert.ok(refused > 0));
  await end();
  assert.equal((await get(client, 'web')).status?.phase, 'Running');
  isRefusing = false;
  t.after(await startSimulatedKubelet({ client, cri: simulatedCri(), nodeOs: linux }));
  await eventually(() => assert.rejects(get(client, 'web'), /not found/));
});

test('pods that died with the machine are told as dead before they are started again', async (t) => {
  const client = await simulatedServer(t);
  const cri = simulatedCri();
  const end = await startSimulatedKubelet({ client, cri, nodeOs: linux });
  await client.create(pods, pod('web'));
  await eventually(async () => assert.equal((await get(client, 'web')).status?.phase, 'Running'));
  await end();
  for (const { id = '' } of await cri.runtime.listPodSandbox()) await cri.runtime.stopPodSandbox(id);

  const held = Promise.withResolvers<void>();
  const slow: Cri = {
    ...cri,
    runtime: {
      ...cri.runtime,
      stopPodSandbox: (id) => held.promise.then(() => cri.runtime.stopPodSandbox(id)),
      runPodSandbox: (config, handler) => held.promise.then(() => cri.runtime.runPodSandbox(config, handler)),
    },
  };
  t.after(await startSimulatedKubelet({ client, cri: slow, nodeOs: linux }));
  await eventually(async () => {
    const { status } = await get(client, 'web');
    assert.equal(status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 137);
    assert.equal(status?.containerStatuses?.[0]?.ready, false);
    for (const type of ['Ready', 'ContainersReady'])
      assert.equal(status?.conditions?.find((c) => c.type === type)?.status, 'False');
  });
  held.resolve();
  await eventually(async () => {
    const { status } = await get(client, 'web');
    assert.equal(status?.containerStatuses?.[0]?.restartCount, 1);
    assert.equal(status?.conditions?.find((c) => c.type === 'Ready')?.status, 'True');
  });
});

test('a mirror pod is the picture of a pod that this node does not have: not run, and taken down', async (t) => {
  const client = await simulatedNode(t, linux);
  await client.create(pods, pod('mirror', {}, { 'kubernetes.io/config.mirror': 'x' }));
  await eventually(async () => assert.rejects(get(client, 'mirror'), { reason: 'NotFound' }));
  const said = (await client.list(events)).items.filter((e) => e.involvedObject.name === 'mirror');
  assert.deepEqual(said, []);
});

test('rules of a container that start it again keep a pod of restartPolicy Never going', async (t) => {
  const client = await simulatedNode(t, linux);
  const rules = [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }];
  const main = { name: 'main', image: 'example.com/x:1', restartPolicy: 'Never', restartPolicyRules: rules };
  const ends = { 'porthole.dev/simulated-run-seconds': '1', 'porthole.dev/simulated-exit-code': '42' };
  await client.create(pods, pod('ruled', { restartPolicy: 'Never', containers: [main] }, ends));
  await eventually(async () => {
    const { status } = await get(client, 'ruled');
    assert.notEqual(status?.phase, 'Failed');
    const [seen] = status?.containerStatuses ?? [];
    // Its second end, after which it waits: the first alone would show even where the pod is given up.
    assert.equal(seen?.restartCount, 1);
    assert.equal(seen?.state?.waiting?.reason, 'CrashLoopBackOff');
    assert.equal(status?.phase, 'Running');
  });
});

test('of pods that come at once as many are let in as there is room for; a taken port of the node refuses', async (t) => {
  const client = await simulatedNode(t, linux);
  const cpus = await eventually(async () => {
    const found = Number((await client.get(nodes, { name: 'node-1' })).status?.allocatable?.['cpu']);
    assert.ok(found > 0);
    return found;
  });
  const resources = { requests: { cpu: `${cpus * 400}m` } };
  const names = ['one', 'two', 'three', 'four'];
  const image = 'example.com/x:1';
  await Promise.all(
    names.map((name) => client.create(pods, pod(name, { containers: [{ name: 'main', image, resources }] }))),
  );
  await eventually(async () => {
    const phases = await Promise.all(names.map(async (name) => (await get(client, name)).status));
    assert.deepEqual(phases.map((status) => status?.phase).sort(), [
      'Failed',
      'Failed',
      'Running',
      'Running',
    ]);
    for (const status of phases) if (status?.phase === 'Failed') assert.equal(status.reason, 'OutOfcpu');
  });
  const ports = [{ containerPort: 80, hostPort: 80 }];
  await client.create(pods, pod('first', { containers: [{ name: 'main', image, ports }] }));
  await eventually(async () => assert.equal((await get(client, 'first')).status?.phase, 'Running'));
  await client.create(pods, pod('second', { containers: [{ name: 'main', image, ports }] }));
  await eventually(async () => {
    const { status } = await get(client, 'second');
    assert.deepEqual(
      [status?.phase, status?.reason, status?.message],
      [
        'Failed',
        'NodePorts',
        "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
      ],
    );
  });
});

test('a label that came a moment ago lets the pod in that was sent for it', async (t) => {
  const client = await simulatedNode(t, linux);
  await eventually(async () => {
    const node = await client.get(nodes, { name: 'node-1' });
    assert.equal(node.status?.conditions?.find((c) => c.type === 'Ready')?.status, 'True');
  });
  await client.patch(
    nodes,
    { name: 'node-1' },
    { type: 'merge', body: { metadata: { labels: { disk: 'ssd' } } } },
  );
  await client.create(pods, pod('there', { nodeSelector: { disk: 'ssd' } }));
  await client.create(pods, pod('elsewhere', { nodeSelector: { disk: 'hdd' } }));
  await eventually(async () => {
    assert.equal((await get(client, 'there')).status?.phase, 'Running');
    assert.equal((await get(client, 'elsewhere')).status?.reason, 'NodeAffinity');
  });
});
