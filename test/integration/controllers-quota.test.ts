// What a namespace uses of its quota, through the real API server.
import { describe, it } from 'node:test';
import { cronjobs, leases, namespaces, resourcequotas, secrets } from '../../src/api/generated/resources.ts';
import { startCluster } from './controllers-cluster.ts';

const namespace = 'small';

describe('resourcequota-controller', () => {
  it('counts what is there, what comes and what goes', async (t) => {
    const { client, until } = await startCluster(t);
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    const secret = await client.create(secrets, { metadata: { name: 's', namespace } });
    await client.create(leases, { metadata: { name: 'l', namespace }, spec: {} });
    const hard = { secrets: '2', 'count/leases.coordination.k8s.io': '5', 'count/cronjobs.batch': '1' };
    await client.create(resourcequotas, { metadata: { name: 'q', namespace }, spec: { hard } });
    const used = (secretsUsed: string, jobsUsed: string): Promise<true> =>
      until(
        resourcequotas,
        (l) => {
          const found = l.get('q', namespace)?.status?.used;
          return (
            found?.['secrets'] === secretsUsed &&
            found['count/cronjobs.batch'] === jobsUsed &&
            found['count/leases.coordination.k8s.io'] === '1'
          );
        },
        `secrets ${secretsUsed}, cronjobs ${jobsUsed}`,
      );
    await used('1', '0');
    const template = { spec: { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' } };
    await client.create(cronjobs, {
      metadata: { name: 'j', namespace },
      spec: { schedule: '@yearly', suspend: true, jobTemplate: { spec: { template } } } as never,
    });
    await used('1', '1');
    await client.delete(secrets, secret.metadata);
    await used('0', '1');
  });
});
