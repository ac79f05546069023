// Devices for the claims of pods, through the real API server: given once, written before the pod is bound, and given again.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { deviceclasses, pods, resourceclaims, resourceslices } from '../../src/api/generated/resources.ts';
import type { ResourceClaim } from '../../src/api/generated/types/resource-v1.ts';
import { type SchedulerCluster, startSchedulerCluster } from './scheduler-cluster.ts';
import { makeReadyNode, makeWaitingPod } from './scheduler-nodes.ts';

const namespace = 'work';
const driver = 'gpu.example.com';

interface Devices extends SchedulerCluster {
  claim(name: string, deviceClassName?: string): Promise<ResourceClaim>;
  pod(name: string, ...claims: string[]): Promise<unknown>;
  placed(name: string): Promise<string>;
  refused(name: string, message: string): Promise<unknown>;
}

async function start(t: TestContext, devices: readonly string[]): Promise<Devices> {
  const cluster = await startSchedulerCluster(t, { namespace });
  const { client, until } = cluster;
  await client.create(deviceclasses, {
    metadata: { name: 'gpu' },
    spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] },
  });
  for (const node of ['a', 'b']) await makeReadyNode(client, node);
  await client.create(resourceslices, {
    metadata: { name: 'b-gpu' },
    spec: {
      driver,
      nodeName: 'b',
      pool: { name: 'b', generation: 1, resourceSliceCount: 1 },
      devices: devices.map((name) => ({ name })),
    },
  });
  return {
    ...cluster,
    claim: (name, deviceClassName = 'gpu') =>
      client.create(resourceclaims, {
        metadata: { name, namespace },
        spec: { devices: { requests: [{ name: 'one', exactly: { deviceClassName } }] } },
      }),
    pod: (name, ...claims) =>
      makeWaitingPod(
        client,
        { name, namespace },
        {
          resourceClaims: claims.map((resourceClaimName) => ({ name: resourceClaimName, resourceClaimName })),
        },
      ),
    placed: (name) => until(pods, (list) => list.get(name, namespace)?.spec.nodeName, `a node for ${name}`),
    refused: (name, message) =>
      until(
        pods,
        (list) =>
          list.get(name, namespace)?.status?.conditions?.some((one) => one.message === message) === true,
        `${name}: ${message}`,
      ),
  };
}

test('a pod goes where the device of its claim is, which is then its; the next one waits until it is given back', async (t) => {
  const { claim, client, errors, placed, pod, refused } = await start(t, ['gpu-0']);
  await claim('first');
  await claim('second');
  await pod('one', 'first');
  assert.equal(await placed('one'), 'b');
  const first = await client.get(resourceclaims, { name: 'first', namespace });
  assert.deepEqual(first.status?.allocation?.devices?.results, [
    { request: 'one', driver, pool: 'b', device: 'gpu-0' },
  ]);
  assert.deepEqual(
    first.status?.reservedFor?.map(({ name, resource }) => [resource, name]),
    [['pods', 'one']],
  );
  assert.deepEqual(first.metadata.finalizers, ['resource.kubernetes.io/delete-protection']);
  // Of one claim several pods may be.
  await pod('sharing', 'first');
  assert.equal(await placed('sharing'), 'b');
  await pod('two', 'second');
  await refused(
    'two',
    '0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.',
  );
  for (const name of ['one', 'sharing'])
    await client.delete(pods, { name, namespace }, { gracePeriodSeconds: 0 });
  // As the controller of resource claims does when nobody uses a claim any more.
  await client.patch(
    resourceclaims,
    { name: 'first', namespace },
    { type: 'merge', body: { status: { allocation: null, reservedFor: null } } },
    { subresource: 'status' },
  );
  assert.equal(await placed('two'), 'b');
  assert.deepEqual(errors, []);
});

test('of pods that come together each gets a device of its own', async (t) => {
  const names = ['p0', 'p1', 'p2', 'p3'];
  const { claim, client, placed, pod } = await start(t, names);
  for (const name of names) await claim(name);
  await Promise.all(names.map((name) => pod(name, name)));
  for (const name of names) assert.equal(await placed(name), 'b');
  const { items } = await client.list(resourceclaims, { namespace });
  const given = items.flatMap(({ status }) => status?.allocation?.devices?.results ?? []);
  assert.deepEqual(given.map(({ device }) => device).sort(), names);
});

test('a pod waits for its claim, for the class, and is told what is missing', async (t) => {
  const { claim, client, placed, pod, refused } = await start(t, ['gpu-0']);
  await pod('early', 'late');
  await claim('late', 'unknown');
  await refused(
    'early',
    '0/2 nodes are available: request one: device class unknown does not exist. no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.',
  );
  await client.create(deviceclasses, { metadata: { name: 'unknown' }, spec: {} });
  assert.equal(await placed('early'), 'b');
});
