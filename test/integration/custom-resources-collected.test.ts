// Objects that a custom resource owns go with it, soon after its kind came to be.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { configmaps, customresourcedefinitions, namespaces } from '../../src/api/generated/resources.ts';
import type { CustomResourceDefinition } from '../../src/api/generated/types/apiextensions-v1.ts';
import type { ConfigMap } from '../../src/api/generated/types/core-v1.ts';
import type { ResourceRef } from '../../src/apimachinery/resource-ref.ts';
import { eventually } from '../harness/eventually.ts';
import { startCluster } from './controllers-cluster.ts';

interface Owner {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid?: string };
}
const group = 'test.example.com';
const owners: ResourceRef<Owner> = {
  group,
  version: 'v1',
  resource: 'owners',
  kind: 'Owner',
  namespaced: true,
};
const namespace = 'team';

it('collects what a deleted custom resource owned', async (t) => {
  const { client, until } = await startCluster(t);
  await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
  await client.create(customresourcedefinitions, {
    metadata: { name: `owners.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'owners', kind: 'Owner' },
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
      ],
    },
  } as unknown as CustomResourceDefinition);
  const owner = await eventually(() => client.create(owners, { metadata: { name: 'o', namespace } }), {
    everyMs: 10,
  });
  const { uid = '' } = owner.metadata;
  await client.create(configmaps, {
    metadata: {
      name: 'owned',
      namespace,
      ownerReferences: [{ apiVersion: `${group}/v1`, kind: 'Owner', name: 'o', uid }],
    },
  } as unknown as ConfigMap);
  await until(configmaps, (l) => l.get('owned', namespace), 'the config map');
  await client.delete(owners, { name: 'o', namespace });
  await until(configmaps, (l) => l.get('owned', namespace) === undefined, 'no config map');
  assert.equal((await client.list(owners, { namespace })).items.length, 0);
});
