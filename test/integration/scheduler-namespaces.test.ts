// Affinity to pods of namespaces by their labels, through the real API server: the labels count as they are, and as they become.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { namespaces, nodes, pods, serviceaccounts } from '../../src/api/generated/resources.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import { startSchedulerCluster } from './scheduler-cluster.ts';

const namespace = 'asking';
const hostname = 'kubernetes.io/hostname';

it('a pod waits until a namespace has the labels that its term asks for, and pods of others are not meant', async (t) => {
  const { client, until } = await startSchedulerCluster(t, { namespace });
  for (const name of ['a', 'b']) {
    await client.create(nodes, { metadata: { name, labels: { [hostname]: name } }, spec: {} });
    const status = {
      allocatable: { cpu: '4', memory: '8Gi', pods: '10' },
      conditions: [{ type: 'Ready', status: 'True' }],
    };
    await client.patch(nodes, { name }, { type: 'merge', body: { status } }, { subresource: 'status' });
    await client.patch(nodes, { name }, { type: 'merge', body: { spec: { taints: null } } });
  }
  const containers = [{ name: 'c', image: 'i' }];
  for (const [name, node] of [
    ['near', 'a'],
    ['far', 'b'],
  ] as const) {
    await client.create(namespaces, { metadata: { name }, spec: {} });
    await client.create(serviceaccounts, { metadata: { name: 'default', namespace: name } });
    await client.create(pods, {
      metadata: { name: 'web', namespace: name, labels: { app: 'web' } },
      spec: { nodeName: node, containers },
    });
  }
  const term = {
    topologyKey: hostname,
    labelSelector: { matchLabels: { app: 'web' } },
    namespaceSelector: { matchLabels: { team: 'x' } },
  };
  const terms = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
  const create = (name: string, affinity: object): Promise<Pod> =>
    client.create(pods, { metadata: { name, namespace }, spec: { containers, affinity } });
  const nodeOf = (name: string): Promise<string> =>
    until(pods, (lister) => lister.get(name, namespace)?.spec.nodeName, `a node for ${name}`);

  await create('wants', { podAffinity: terms });
  await until(
    pods,
    (lister) => {
      const said = lister.get('wants', namespace)?.status?.conditions ?? [];
      return said.some(({ message = '' }) => message.includes("2 node(s) didn't match pod affinity rules"));
    },
    'a refusal',
  );
  const labels = { team: 'x' };
  await client.patch(namespaces, { name: 'far' }, { type: 'merge', body: { metadata: { labels } } });
  assert.equal(await nodeOf('wants'), 'b');

  for (const name of ['avoids-1', 'avoids-2', 'avoids-3']) {
    await create(name, { podAntiAffinity: terms });
    assert.equal(await nodeOf(name), 'a');
  }
});
