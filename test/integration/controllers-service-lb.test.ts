// Services of type LoadBalancer under the built-in balancer: addresses, those of others, what can't be given, and why.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { events, services } from '../../src/api/generated/resources.ts';
import type { Service } from '../../src/api/generated/types/core-v1.ts';
import { eventually } from '../harness/eventually.ts';
import { startCluster } from './controllers-cluster.ts';

const balanced = (name: string, spec: Partial<Service['spec']> = {}) => ({
  metadata: { name, namespace: 'default' },
  spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec },
});
const key = (name: string) => ({ name, namespace: 'default' });

test('each Service gets an address of its own, loses it with its type, and what others gave is left alone', async (t) => {
  const { client, until } = await startCluster(t, { loadBalancerRange: '172.30.0.128/29' });
  const ingressOf = (name: string) =>
    until(services, (all) => all.get(name, 'default')?.status?.loadBalancer?.ingress?.[0], `${name} has one`);
  await Promise.all(['a', 'b', 'c'].map((name) => client.create(services, balanced(name))));
  const given = await Promise.all(['a', 'b', 'c'].map(ingressOf));
  assert.deepEqual(given.map(({ ip }) => ip).sort(), ['172.30.0.132', '172.30.0.133', '172.30.0.134']);
  assert.deepEqual(given[0]?.ipMode, 'VIP');
  const said = async (name: string): Promise<string[]> =>
    (await client.list(events, { namespace: 'default' })).items
      .filter(({ involvedObject }) => involvedObject.name === name)
      .map(({ reason, message }) => `${reason}: ${message}`);
  await eventually(async () =>
    assert.deepEqual(await said('a'), [
      'EnsuringLoadBalancer: Ensuring load balancer',
      'EnsuredLoadBalancer: Ensured load balancer',
    ]),
  );

  await client.create(services, balanced('asks', { loadBalancerIP: given[0]!.ip }));
  await client.create(services, balanced('classy', { loadBalancerClass: 'example.com/other' }));
  await eventually(async () =>
    assert.deepEqual(await said('asks'), [
      `SyncLoadBalancerFailed: Error syncing load balancer: failed to ensure load balancer: spec.loadBalancerIP ${given[0]!.ip} is taken`,
    ]),
  );
  const foreign = { status: { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } } };
  await client.patch(services, key('classy'), { type: 'merge', body: foreign }, { subresource: 'status' });
  await client.patch(services, key('a'), { type: 'merge', body: { spec: { type: 'ClusterIP' } } });
  await until(
    services,
    (all) => all.get('a', 'default')?.status?.loadBalancer?.ingress === undefined,
    'a has none',
  );
  // What became free is found by who asked for it once it is looked at again.
  await client.patch(services, key('asks'), { type: 'merge', body: { metadata: { labels: { again: '' } } } });
  assert.equal((await ingressOf('asks')).ip, given[0]!.ip);
  assert.equal((await ingressOf('classy')).ip, '192.0.2.7');
});

test('where the cluster has no addresses to give, a Service waits for somebody else', async (t) => {
  const { client, until } = await startCluster(t);
  await client.create(services, balanced('a'));
  await client.create(services, {
    metadata: { name: 'b', namespace: 'default' },
    spec: { ports: [{ port: 80 }] },
  });
  await until(services, (all) => all.get('b', 'default'), 'b is seen');
  assert.equal((await client.get(services, key('a'))).status?.loadBalancer?.ingress, undefined);
});
