// The objects of another API server are collected and go with their namespace, and one that lists nothing keeps no others.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { configmaps, namespaces } from '../../src/api/generated/resources.ts';
import type { ConfigMap, Namespace } from '../../src/api/generated/types/core-v1.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { openPki } from '../../src/controlplane/pki.ts';
import type { TestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';
import { type ExtensionServer, extensionGroup, startExtensionServer } from '../harness/extension-server.ts';
import { startCluster } from './controllers-cluster.ts';

const files = new Map<string, string>();
const pki = await openPki(
  { read: (name) => files.get(name), write: (name, text) => void files.set(name, text) },
  systemClock,
);
const frontProxy = await pki.frontProxyClient();
let extension: ExtensionServer;
before(async () => {
  extension = await startExtensionServer({ frontProxyCa: pki.authorities.frontProxyCa() });
});
after(() => extension?.close());

const base = `/apis/${extensionGroup}/v1alpha1`;
const name = `v1alpha1.${extensionGroup}`;
const server = { pki, frontProxyClient: () => frontProxy };

async function register(plane: TestControlPlane): Promise<void> {
  await plane.ask('POST', '/api/v1/namespaces', { metadata: { name: 'wardle' } });
  await plane.ask('POST', '/api/v1/namespaces/wardle/services', {
    metadata: { name: 'api' },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  });
  const made = await plane.ask('POST', '/apis/apiregistration.k8s.io/v1/apiservices', {
    metadata: { name },
    spec: {
      group: extensionGroup,
      version: 'v1alpha1',
      groupPriorityMinimum: 2000,
      versionPriority: 200,
      caBundle: extension.caBundle,
      service: { namespace: 'wardle', name: 'api', port: extension.port },
    },
  });
  assert.equal(made.status, 201, made.text);
  await eventually(async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const { text } = await plane.ask('GET', '/apis', undefined, { accept });
    assert.match(text, /"resource":"flunders"/);
    assert.equal((await plane.ask('GET', `${base}/flunders`)).status, 200);
  });
}

const isGone = (of: string): Promise<void> =>
  eventually(() =>
    assert.deepEqual(
      [...extension.flunders.keys()].filter((key) => key === of),
      [],
    ),
  );

test('objects go with their owner, and with their namespace', { timeout: 120_000 }, async (t) => {
  const { client, server: plane, until } = await startCluster(t, { server, prepare: register });
  await client.create(namespaces, { metadata: { name: 'short' } } as Namespace);
  const owner = await client.create(configmaps, {
    metadata: { name: 'owner', namespace: 'short' },
  } as ConfigMap);
  const { uid = '' } = owner.metadata;
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }];
  const flunders = `${base}/namespaces/short/flunders`;
  for (const metadata of [{ name: 'owned', ownerReferences }, { name: 'free' }])
    assert.equal((await plane.ask('POST', flunders, { metadata })).status, 201);
  await client.delete(configmaps, { name: 'owner', namespace: 'short' });
  await isGone('short/owned');
  assert.ok(extension.flunders.has('short/free'));
  await client.delete(namespaces, { name: 'short' });
  await until(namespaces, (l) => l.get('short') === undefined, 'no namespace');
  await isGone('short/free');
});

test('a server that never lists its objects keeps no others from being collected', {
  timeout: 120_000,
}, async (t) => {
  const hangs = async (plane: TestControlPlane): Promise<void> => {
    await register(plane);
    extension.answers.set(`${base}/flunders`, () => {});
  };
  const { client } = await startCluster(t, { server, prepare: hangs });
  const owner = await client.create(configmaps, {
    metadata: { name: 'a', namespace: 'default' },
  } as ConfigMap);
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: owner.metadata.uid ?? '' }];
  await client.create(configmaps, {
    metadata: { name: 'b', namespace: 'default', ownerReferences },
  } as ConfigMap);
  await client.delete(configmaps, { name: 'a', namespace: 'default' });
  await eventually(async () => {
    const { items } = await client.list(configmaps, { namespace: 'default' });
    assert.ok(!items.some(({ metadata }) => metadata.name === 'b'));
  });
  extension.answers.clear();
});
