// A scheduler with a configuration, through the real API server: profiles that place differently, and extenders that have a say.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { bindings, events, nodes, pods } from '../../src/api/generated/resources.ts';
import type { AskExtender } from '../../src/scheduler/extender.ts';
import { type SchedulerCluster, startSchedulerCluster } from './scheduler-cluster.ts';
import { makePriorityClass, makeReadyNode, makeWaitingPod } from './scheduler-nodes.ts';

const namespace = 'work';
const head = { apiVersion: 'kubescheduler.config.k8s.io/v1', kind: 'KubeSchedulerConfiguration' };

interface Configured extends SchedulerCluster {
  make(name: string, spec?: Parameters<typeof makeWaitingPod>[2]): Promise<unknown>;
  placed(name: string): Promise<string>;
  refused(name: string, message: string): Promise<unknown>;
}

async function start(t: TestContext, configuration: object, extender?: AskExtender): Promise<Configured> {
  const cluster = await startSchedulerCluster(t, {
    namespace,
    configuration: { ...head, ...configuration },
    ...(extender === undefined ? {} : { extender }),
  });
  const { client, until } = cluster;
  return {
    ...cluster,
    make: (name, spec) => makeWaitingPod(client, { name, namespace }, spec),
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

test('each pod is placed by the profile that it names, and told of by its name; one that names none of them waits', async (t) => {
  const { client, make, placed, until } = await start(t, {
    profiles: [
      { schedulerName: 'default-scheduler' },
      {
        schedulerName: 'packing',
        plugins: { score: { disabled: [{ name: '*' }], enabled: [{ name: 'NodeResourcesFit' }] } },
        pluginConfig: [{ name: 'NodeResourcesFit', args: { scoringStrategy: { type: 'MostAllocated' } } }],
      },
      {
        schedulerName: 'careless',
        plugins: {
          filter: { disabled: [{ name: 'NodeUnschedulable' }] },
          postFilter: { disabled: [{ name: '*' }] },
        },
      },
    ],
  });
  for (const node of ['busy', 'free']) await makeReadyNode(client, node);
  await make('there', { cpu: '1', nodeName: 'busy' });
  await make('spread', { cpu: '1' });
  assert.equal(await placed('spread'), 'free');
  await make('there-too', { cpu: '1', nodeName: 'busy' });
  await make('packed', { cpu: '1', schedulerName: 'packing' });
  assert.equal(await placed('packed'), 'busy');
  await until(
    events,
    (list) =>
      list
        .list(namespace)
        .find(
          ({ involvedObject, source }) => involvedObject.name === 'packed' && source?.component === 'packing',
        ),
    'the event of its profile',
  );
  for (const name of ['busy', 'free'])
    await client.patch(nodes, { name }, { type: 'merge', body: { spec: { unschedulable: true } } });
  await make('nobodys', { schedulerName: 'another' });
  await make('bold', { schedulerName: 'careless', tolerations: [] });
  await placed('bold').catch(() => assert.fail('the cordon is none of its business'));
  assert.equal((await client.get(pods, { name: 'nobodys', namespace })).status?.conditions, undefined);
});

test('extenders take nodes away, weigh those that are left, and bind', async (t) => {
  const asked: [string, string][] = [];
  let bind = async (_body: Record<string, string>): Promise<void> => {};
  const extender: AskExtender = async (url, sent) => {
    const body = JSON.parse(JSON.stringify(sent));
    const verb = url.replace('http://extender/', '');
    asked.push([verb, body.Pod?.metadata.name ?? body.PodName]);
    if (verb === 'filter')
      return {
        nodenames: body.NodeNames.filter((name: string) => name !== 'c'),
        failedNodes: { c: 'is kept for others' },
      };
    if (verb === 'prioritize')
      return body.NodeNames.map((Host: string) => ({ Host, Score: Host === 'b' ? 10 : 0 }));
    await bind(body);
    return {};
  };
  const { client, make, placed, refused } = await start(
    t,
    {
      extenders: [
        {
          urlPrefix: 'http://extender/',
          filterVerb: 'filter',
          prioritizeVerb: 'prioritize',
          bindVerb: 'bind',
          weight: 5,
          nodeCacheCapable: true,
        },
      ],
    },
    extender,
  );
  bind = async ({ Node, PodName, PodUID }) => {
    await client.createSubresource(pods, { name: PodName!, namespace }, 'binding', {
      apiVersion: 'v1',
      kind: bindings.kind,
      metadata: { name: PodName, namespace, uid: PodUID },
      target: { apiVersion: 'v1', kind: 'Node', name: Node },
    });
  };
  for (const node of ['a', 'b', 'c']) await makeReadyNode(client, node);
  await make('one');
  assert.equal(await placed('one'), 'b');
  assert.deepEqual(asked, [
    ['filter', 'one'],
    ['prioritize', 'one'],
    ['bind', 'one'],
  ]);
  await make('kept', { nodeSelector: { 'kubernetes.io/hostname': 'c' } });
  await refused(
    'kept',
    "0/3 nodes are available: 1 is kept for others, 2 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.",
  );
});

test('an extender that fails keeps pods waiting, unless it may be ignored; one that manages a resource is asked for that alone', async (t) => {
  const extender: AskExtender = async () => {
    throw new Error('failed filter with extender at URL http://extender/filter, code 500');
  };
  const broken = { urlPrefix: 'http://extender', filterVerb: 'filter' };
  const { client, make, placed, refused } = await start(
    t,
    {
      extenders: [
        { ...broken, managedResources: [{ name: 'example.com/x', ignoredByScheduler: true }] },
        { ...broken, ignorable: true },
      ],
    },
    extender,
  );
  await makeReadyNode(client, 'a');
  await make('plain');
  assert.equal(await placed('plain'), 'a');
  const resources = { requests: { 'example.com/x': '1' }, limits: { 'example.com/x': '1' } };
  await make('managed', { containers: [{ name: 'c', image: 'i', resources }] });
  await refused('managed', 'failed filter with extender at URL http://extender/filter, code 500');
});

test('an extender has a say in whom preemption ends', async (t) => {
  const extender: AskExtender = async (_url, sent) => {
    const { NodeNameToMetaVictims: nodes } = JSON.parse(JSON.stringify(sent));
    return { NodeNameToMetaVictims: { b: nodes.b } };
  };
  const { client, make, placed, until } = await start(
    t,
    { extenders: [{ urlPrefix: 'http://extender', preemptVerb: 'preempt', nodeCacheCapable: true }] },
    extender,
  );
  await makePriorityClass(client, 'low', 1);
  await makePriorityClass(client, 'high', 1_000);
  for (const node of ['a', 'b']) {
    await makeReadyNode(client, node);
    await make(`on-${node}`, { cpu: '3', priorityClassName: 'low', nodeName: node });
  }
  await placed('on-b');
  await make('important', { cpu: '3', priorityClassName: 'high' });
  await until(
    pods,
    (list) => list.get('on-b', namespace)?.metadata.deletionTimestamp !== undefined,
    'the pod on b ends',
  );
  assert.equal((await client.get(pods, { name: 'on-a', namespace })).metadata.deletionTimestamp, undefined);
});
