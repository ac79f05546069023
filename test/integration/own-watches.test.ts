// Informers of the server's own process are told what was written as it was: the same as everybody else reads as bytes.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { configmaps, namespaces, nodes, pods, serviceaccounts } from '../../src/api/generated/resources.ts';
import { isStatusError } from '../../src/apimachinery/errors.ts';
import type { ResourceRef } from '../../src/apimachinery/resource-ref.ts';
import type { Client, WatchEvent, WatchOptions } from '../../src/client/client.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { administrator, startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { MemoryStorage } from '../../src/storage/memory/memory-storage.ts';

const namespace = 'work';
const container = { name: 'c', image: 'i', ports: [{ containerPort: 80 }] };

async function start(t: TestContext) {
  const storage = new MemoryStorage(systemClock);
  for (const key of ['/registry/a', '/registry/b'])
    await storage.create(key, { bytes: Buffer.from('{}'), revisionAt: -1 });
  await storage.compact(2);
  const server = await startTestControlPlane({ storage });
  t.after(() => server.close());
  const client = server.controlPlane.clientFor(administrator);
  await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
  await client.create(serviceaccounts, { metadata: { name: 'default', namespace } });
  return { client, reader: server.controlPlane.reader };
}

/** So many events, from `resourceVersion` on. */
async function seen<T>(client: Client, resource: ResourceRef<T>, count: number, options: WatchOptions) {
  const events: WatchEvent<T>[] = [];
  const over = new AbortController();
  for await (const event of client.watch(resource, { ...options, signal: over.signal })) {
    events.push(event);
    if (events.length === count) over.abort();
  }
  return events;
}

const versionOf = async (client: Client): Promise<string> =>
  (await client.list(pods)).metadata.resourceVersion;

/** Creates, changes and deletes in all ways that there are: nine events of pods, three of other kinds. */
async function write(client: Client): Promise<void> {
  const key = { namespace, name: 'p' };
  await client.create(pods, { metadata: { ...key, labels: { a: 'b' } }, spec: { containers: [container] } });
  const body = { status: { conditions: [{ type: 'PodScheduled', status: 'False' }] } };
  await client.patch(pods, key, { type: 'strategic', body }, { subresource: 'status' });
  await client.patch(pods, key, { type: 'merge', body: { metadata: { labels: { a: null } } } });
  const apply = { apiVersion: 'v1', kind: 'Pod', metadata: { ...key, annotations: { of: 'apply' } } };
  await client.patch(pods, key, { type: 'apply', fieldManager: 'test', body: apply });
  const images = [{ op: 'replace', path: '/spec/containers/0/image', value: 'j' }];
  await client.patch(pods, key, { type: 'json', body: images });
  await client.createSubresource(pods, key, 'binding', {
    metadata: { name: key.name },
    target: { kind: 'Node', name: 'n' },
  });
  await client.update(pods, { ...(await client.get(pods, key)), metadata: { ...key, finalizers: ['a/b'] } });
  await client.delete(pods, key, { gracePeriodSeconds: 0 });
  await client.patch(pods, key, { type: 'merge', body: { metadata: { finalizers: null } } });
  await client.create(nodes, { metadata: { name: 'n' }, spec: {} });
  await client.create(configmaps, { metadata: { namespace, name: 'c' }, data: { k: 'ä' } });
  await client.delete(configmaps, { namespace, name: 'c' });
}

describe('what informers of the server are told', () => {
  it('is what everybody reads, of each kind of write', async (t) => {
    const { client, reader } = await start(t);
    const resourceVersion = await versionOf(client);
    const counts: readonly (readonly [ResourceRef, number])[] = [
      [pods, 9],
      [nodes, 1],
      [configmaps, 2],
    ];
    const own = counts.map(([resource, count]) => seen(reader, resource, count, { resourceVersion }));
    await write(client);
    for (const [i, [resource, count]] of counts.entries())
      assert.deepEqual(await own[i], await seen(client, resource, count, { resourceVersion }));
  });

  it('is theirs alone: who changes it changes nobody else’s, nor what is read later', async (t) => {
    const { client, reader } = await start(t);
    const resourceVersion = await versionOf(client);
    const both = [1, 2].map(() => seen(reader, configmaps, 1, { resourceVersion }));
    await client.create(configmaps, { metadata: { namespace, name: 'c' }, data: { k: 'v' } });
    const [first, second] = (await Promise.all(both)).map(([event]) => event!.object as { data: object });
    Object.assign(first!.data, { k: 'changed' });
    assert.deepEqual(second!.data, { k: 'v' });
    assert.deepEqual((await client.get(configmaps, { namespace, name: 'c' })).data, { k: 'v' });
  });

  it('is of the namespace that was asked for, or chosen by a selector', async (t) => {
    const { client, reader } = await start(t);
    const resourceVersion = await versionOf(client);
    for (const name of ['a', 'b'])
      await client.create(configmaps, { metadata: { namespace, name, labels: { is: name } } });
    const named = async (options: WatchOptions): Promise<string | undefined> =>
      (
        (await seen(reader, configmaps, 1, { resourceVersion, ...options }))[0]!.object as {
          metadata: { name?: string };
        }
      ).metadata.name;
    assert.equal(await named({ namespace }), 'a');
    assert.equal(await named({ namespace, labelSelector: 'is=b' }), 'b');
    assert.equal(await named({ fieldSelector: 'metadata.name=b' }), 'b');
  });

  it('ends with 410 where the past is forgotten, and when its signal is aborted', async (t) => {
    const { client, reader } = await start(t);
    await assert.rejects(seen(reader, pods, 1, { resourceVersion: '1' }), (error) =>
      isStatusError(error, 'Expired'),
    );
    const over = new AbortController();
    const resourceVersion = await versionOf(client);
    const events = reader.watch(pods, { resourceVersion, signal: over.signal })[Symbol.asyncIterator]();
    const next = events.next();
    over.abort();
    assert.equal((await next).done, true);
  });
});
