// Resource claims through the real API server: made from templates, held by pods, freed and deleted when pods are done.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  events,
  namespaces,
  pods,
  resourceclaims,
  resourceclaimtemplates,
  serviceaccounts,
} from '../../src/api/generated/resources.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import type { ResourceClaim } from '../../src/api/generated/types/resource-v1.ts';
import { type ControllersCluster, startCluster } from './controllers-cluster.ts';

const namespace = 'devices';
const request = { name: 'gpu', exactly: { deviceClassName: 'gpu.example.com' } };
const template = {
  metadata: { name: 'one-gpu', namespace },
  spec: { metadata: { labels: { from: 'template' } }, spec: { devices: { requests: [request] } } },
} as never;
const podOf = (name: string, ...resourceClaims: object[]): Pod =>
  ({
    metadata: { name, namespace },
    spec: {
      resourceClaims,
      containers: [{ name: 'c', image: 'c:1' }],
      terminationGracePeriodSeconds: 0,
    },
  }) as unknown as Pod;
const fromTemplate = (name: string): object => ({ name, resourceClaimTemplateName: 'one-gpu' });
const allocation = {
  devices: { results: [{ request: 'gpu', driver: 'gpu.example.com', pool: 'p', device: 'd' }] },
};
const finalizers = ['resource.kubernetes.io/delete-protection'];

async function begin(t: Parameters<typeof startCluster>[0]): Promise<ControllersCluster> {
  const cluster = await startCluster(t);
  await cluster.client.create(namespaces, { metadata: { name: namespace }, spec: {} });
  await cluster.until(serviceaccounts, (l) => l.get('default', namespace), 'the account of its pods');
  return cluster;
}

/** Allocates it as the scheduler does, and lets the pods hold it. */
async function allocate(
  { client }: ControllersCluster,
  name: string,
  ...holders: readonly Pod[]
): Promise<ResourceClaim> {
  const key = { name, namespace };
  const known = await client.get(resourceclaims, key);
  const claim = await client.update(resourceclaims, {
    ...known,
    metadata: { ...known.metadata, finalizers },
  });
  const reservedFor = holders.map(({ metadata }) => ({
    resource: 'pods',
    name: metadata.name,
    uid: metadata.uid ?? '',
  }));
  const status = { allocation, ...(reservedFor.length === 0 ? {} : { reservedFor }) };
  return client.update(resourceclaims, { ...claim, status } as ResourceClaim, { subresource: 'status' });
}

describe('resourceclaim-controller', () => {
  it('makes a claim for each entry of a pod that names a template, and says so in its status', async (t) => {
    const cluster = await begin(t);
    const { client, until } = cluster;
    await client.create(resourceclaimtemplates, template);
    const pod = await client.create(pods, podOf('p', fromTemplate('a'), fromTemplate('b')));
    const known = await until(
      pods,
      (l) => {
        const statuses = l.get('p', namespace)?.status?.resourceClaimStatuses;
        return statuses?.length === 2 && statuses;
      },
      'both are named',
    );
    const { items } = await client.list(resourceclaims, { namespace });
    assert.equal(items.length, 2);
    for (const { metadata, spec } of items) {
      const entry = metadata.annotations?.['resource.kubernetes.io/pod-claim-name'] ?? '';
      assert.match(metadata.name, new RegExp(`^p-${entry}-[a-z0-9]{5}$`));
      assert.equal(known.find(({ name }) => name === entry)?.resourceClaimName, metadata.name);
      assert.deepEqual(metadata.labels, { from: 'template' });
      const [owner] = metadata.ownerReferences ?? [];
      assert.deepEqual([owner?.kind, owner?.uid, owner?.controller], ['Pod', pod.metadata.uid, true]);
      assert.equal(spec.devices?.requests?.[0]?.exactly?.deviceClassName, 'gpu.example.com');
    }
    const [first] = items;
    await client.delete(resourceclaims, { name: first!.metadata.name, namespace });
    await until(
      resourceclaims,
      (l) => l.list(namespace).length === 2 && l.get(first!.metadata.name, namespace) === undefined,
      'one that somebody deleted is made again',
    );
  });

  it('says which template is missing, and goes on when it is there', async (t) => {
    const cluster = await begin(t);
    const { client, until } = cluster;
    await client.create(pods, podOf('p', fromTemplate('a')));
    await until(
      events,
      (l) =>
        l
          .list(namespace)
          .find(
            ({ reason, message }) =>
              reason === 'FailedResourceClaimCreation' &&
              message ===
                'PodResourceClaim a: resource claim template "one-gpu": resourceclaimtemplate.resource.k8s.io "one-gpu" not found',
          ),
      'the event',
    );
    await client.create(resourceclaimtemplates, template);
    await until(resourceclaims, (l) => l.list(namespace).length === 1, 'the claim');
  });

  it('frees and deletes the claim of a pod that is done', async (t) => {
    const cluster = await begin(t);
    const { client, until } = cluster;
    await client.create(resourceclaimtemplates, template);
    const pod = await client.create(pods, podOf('p', fromTemplate('a')));
    const { metadata } = await until(resourceclaims, (l) => l.list(namespace)[0], 'the claim');
    await allocate(cluster, metadata.name, pod);
    const body = { status: { phase: 'Succeeded' } };
    await client.patch(pods, { name: 'p', namespace }, { type: 'merge', body }, { subresource: 'status' });
    await until(resourceclaims, (l) => l.list(namespace).length === 0, 'the claim is gone');
  });

  it('a shared claim loses those that are gone, and its devices with the last of them', async (t) => {
    const cluster = await begin(t);
    const { client, until } = cluster;
    const metadata = { name: 'shared', namespace };
    await client.create(resourceclaims, { metadata, spec: { devices: { requests: [request] } } } as never);
    const entry = { name: 'a', resourceClaimName: 'shared' };
    const first = await client.create(pods, podOf('first', entry));
    const second = await client.create(pods, podOf('second', entry));
    await allocate(cluster, 'shared', first, second);
    const holders = (...names: readonly string[]): Promise<ResourceClaim> =>
      until(
        resourceclaims,
        (l) => {
          const claim = l.get('shared', namespace);
          const held = (claim?.status?.reservedFor ?? []).map(({ name }) => name).join();
          return held === names.join() && claim;
        },
        `held by ${names.join()}`,
      );
    await holders('first', 'second');
    await client.delete(pods, { name: 'first', namespace });
    assert.ok((await holders('second')).status?.allocation);
    await client.delete(pods, { name: 'second', namespace });
    await until(
      resourceclaims,
      (l) => {
        const claim = l.get('shared', namespace);
        return claim?.status?.allocation === undefined && (claim?.metadata.finalizers ?? []).length === 0;
      },
      'it is free, and may be deleted',
    );
  });

  it('a pod that came to its node without the scheduler is noted as a holder', async (t) => {
    const cluster = await begin(t);
    const { client, until } = cluster;
    const metadata = { name: 'shared', namespace };
    await client.create(resourceclaims, { metadata, spec: { devices: { requests: [request] } } } as never);
    const bound = podOf('bound', { name: 'a', resourceClaimName: 'shared' });
    await client.create(pods, { ...bound, spec: { ...bound.spec, nodeName: 'n1' } });
    await allocate(cluster, 'shared');
    await until(
      resourceclaims,
      (l) => l.get('shared', namespace)?.status?.reservedFor?.some(({ name }) => name === 'bound'),
      'it holds the claim',
    );
  });
});
