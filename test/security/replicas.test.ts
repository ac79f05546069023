// Whoever asks for two billion pods gets some at a time, and others get theirs meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deployments, namespaces, pods, statefulsets } from '../../src/api/generated/resources.ts';
import { startCluster } from '../integration/controllers-cluster.ts';

const all = 2_147_483_647;
const pace = { burst: 30, perSecond: 10 };
const workload = (namespace: string, name: string, replicas: number) => ({
  metadata: { namespace, name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { name: '', labels: { app: name } },
      spec: { containers: [{ name: 'c', image: 'registry.example/c' }] },
    },
  },
});

test('two billion replicas grow slowly, and another’s three are made at once', async (t) => {
  const { client, until } = await startCluster(t, { pace });
  for (const name of ['greedy', 'modest']) await client.create(namespaces, { metadata: { name }, spec: {} });
  const begun = performance.now();
  await client.create(deployments, workload('greedy', 'deployment', all));
  const set = workload('greedy', 'set', all);
  await client.create(statefulsets, {
    ...set,
    spec: { ...set.spec, serviceName: 'set', podManagementPolicy: 'Parallel' },
  });
  await until(pods, (lister) => lister.list('greedy').length >= pace.burst, 'the first of them');
  await client.create(deployments, workload('modest', 'modest', 3));
  await until(pods, (lister) => lister.list('modest').length === 3, 'the three');
  const { items } = await client.list(pods, { namespace: 'greedy' });
  const seconds = (performance.now() - begun) / 1000;
  const most = pace.burst + pace.perSecond * (seconds + 1);
  assert.ok(items.length <= most, `${items.length} pods in ${seconds} s`);
  await until(pods, (lister) => lister.list('greedy').length > pace.burst, 'more of them');
});
