// ServiceCIDRs under their controller: ready, kept while Services have addresses of theirs, and gone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { servicecidrs } from '../../src/api/generated/resources.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { startCluster } from './controllers-cluster.ts';

test('a ServiceCIDR goes when no Service has an address of it any more', async (t) => {
  // What is deleted was deleted a minute ago: the time that servers get to hear of it is over.
  const serverClock = { ...systemClock, now: () => Date.now() - 60_000 };
  const { client, server, until } = await startCluster(t, { serverClock });
  const { ask } = server;
  const finalizer = 'networking.k8s.io/service-cidr-finalizer';
  await until(
    servicecidrs,
    (cidrs) => cidrs.get('kubernetes')?.metadata.finalizers?.includes(finalizer),
    'the own ServiceCIDR is protected',
  );
  await client.create(servicecidrs, { metadata: { name: 'more' }, spec: { cidrs: ['10.97.0.0/29'] } });
  const condition = await until(
    servicecidrs,
    (cidrs) => cidrs.get('more')?.status?.conditions?.[0],
    'it is said to be ready',
  );
  assert.deepEqual(
    [condition.type, condition.status, condition.message],
    ['Ready', 'True', 'Kubernetes Service CIDR is ready'],
  );
  const services = '/api/v1/namespaces/default/services';
  const spec = { clusterIP: '10.97.0.3', ports: [{ port: 80 }] };
  assert.equal((await ask('POST', services, { metadata: { name: 'a' }, spec })).status, 201);
  await client.delete(servicecidrs, { name: 'more' });
  const held = await until(
    servicecidrs,
    (cidrs) => cidrs.get('more')?.status?.conditions?.find(({ status }) => status === 'False'),
    'it is held back',
  );
  assert.deepEqual(
    [held.reason, held.message],
    [
      'Terminating',
      'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR',
    ],
  );
  await ask('DELETE', `${services}/a`);
  await until(servicecidrs, (cidrs) => cidrs.get('more') === undefined, 'it is gone');
});
