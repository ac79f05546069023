// Endpoints kept by hand become slices, through the real API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endpoints, endpointslices, namespaces, services } from '../../src/api/generated/resources.ts';
import { startCluster } from './controllers-cluster.ts';

const namespace = 'byhand';

describe('endpointslice-mirroring-controller', () => {
  it('follows Endpoints as they are made, changed and deleted', async (t) => {
    const { client, until } = await startCluster(t);
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    await client.create(services, {
      metadata: { name: 'db', namespace },
      spec: { ports: [{ name: 'sql', port: 5432, protocol: 'TCP' }] },
    });
    const subset = (ip: string): object => ({
      addresses: [{ ip }],
      ports: [{ name: 'sql', port: 5432, protocol: 'TCP' }],
    });
    await client.create(endpoints, {
      metadata: { name: 'db', namespace },
      subsets: [subset('10.1.2.3') as never],
    });
    const holds = (ip: string): Promise<string> =>
      until(
        endpointslices,
        (l) => {
          const [slice, ...more] = l.list(namespace);
          const first = slice?.endpoints?.[0]?.addresses[0];
          return more.length === 0 && first === ip && slice?.metadata.name;
        },
        ip,
      );
    const name = await holds('10.1.2.3');
    await client.patch(
      endpoints,
      { name: 'db', namespace },
      { type: 'merge', body: { subsets: [subset('10.1.2.4')] } },
    );
    assert.equal(await holds('10.1.2.4'), name);
    await client.delete(endpoints, { name: 'db', namespace });
    await until(endpointslices, (l) => l.list(namespace).length === 0, 'no slice');
  });
});
