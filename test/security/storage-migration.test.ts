// What somebody could do with StorageVersionMigrations: those who may not, statuses that lie, and webhooks that answer with something else.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { storageversionmigrations } from '../../src/api/generated/resources.ts';
import type { StorageVersionMigration } from '../../src/api/generated/types/storagemigration-v1beta1.ts';
import { createScheme } from '../../src/api/scheme.ts';
import { findCondition } from '../../src/apimachinery/conditions.ts';
import { startTestControlPlane, user } from '../../src/controlplane/testing/test-control-plane.ts';
import { conversionAnswer, conversionAsked } from '../harness/conversion-webhook.ts';
import { eventually } from '../harness/eventually.ts';
import { startWebhookServer, type WebhookServer } from '../harness/webhook-server.ts';
import { type ControllersCluster, startCluster } from '../integration/controllers-cluster.ts';

const migrations = '/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations';
const group = 'hostile.example.com';
const jars = `/apis/${group}/v1/namespaces/default/jars`;
const crd = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/jars.${group}`;
const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
const versions = (storage: string): object[] =>
  ['v1', 'v2'].map((name) => ({ name, served: true, storage: name === storage, schema }));

test('whoever administers a namespace may neither migrate nor look', async () => {
  const { ask, close } = await startTestControlPlane({ scheme: createScheme(() => true) });
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  for (const role of ['admin', 'edit', 'view'])
    assert.equal(
      (
        await ask('POST', `${rbac}/clusterrolebindings`, {
          metadata: { name: role },
          subjects: [{ kind: 'User', name: role }],
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
        })
      ).status,
      201,
    );
  const body = { metadata: { name: 'm' }, spec: { resource: { group: '', resource: 'secrets' } } };
  for (const name of ['admin', 'edit', 'view', 'nobody']) {
    assert.equal((await ask('POST', migrations, body, { user: user(name) })).status, 403, name);
    assert.equal((await ask('GET', migrations, undefined, { user: user(name) })).status, 403, name);
  }
  await close();
});

const over = (cluster: ControllersCluster, name: string): Promise<StorageVersionMigration> =>
  cluster.until(
    storageversionmigrations,
    (lister) => {
      const found = lister.get(name);
      return findCondition(found?.status?.conditions, 'Running')?.status === 'False' ? found : undefined;
    },
    `${name} is over`,
  );

async function withJars(t: TestContext): Promise<[ControllersCluster, WebhookServer]> {
  const hooks = await startWebhookServer();
  const cluster = await startCluster(t, { storageVersionMigrator: true });
  t.after(() => hooks.close());
  const { ask } = cluster.server;
  const made = await ask('POST', crd.slice(0, crd.lastIndexOf('/')), {
    metadata: { name: `jars.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'jars', kind: 'Jar' },
      versions: versions('v1'),
      conversion: {
        strategy: 'Webhook',
        webhook: {
          clientConfig: { url: `${hooks.url}/convert`, caBundle: hooks.caBundle },
          conversionReviewVersions: ['v1'],
        },
      },
    },
  });
  assert.equal(made.status, 201, made.text);
  await eventually(async () => assert.equal((await ask('GET', jars)).status, 200));
  for (const name of ['a', 'b'])
    assert.equal((await ask('POST', jars, { metadata: { name }, kept: name })).status, 201);
  assert.equal((await ask('PATCH', crd, { spec: { versions: versions('v2') } })).status, 200);
  await eventually(async () => {
    const { body } = await ask('GET', crd);
    assert.deepEqual((body['status'] as { storedVersions: string[] }).storedVersions, ['v1', 'v2']);
  });
  return [cluster, hooks];
}

test('a webhook that answers with other objects, or with a book, ends the migration and changes nothing', async (t) => {
  const [cluster, hooks] = await withJars(t);
  const { ask } = cluster.server;
  const before = (await ask('GET', jars)).body['items'];
  const answers: Readonly<Record<string, (objects: readonly object[]) => object>> = {
    swapped: (objects) => ({
      convertedObjects: objects.toReversed().map((one) => ({ ...one, apiVersion: `${group}/v2` })),
      result: { status: 'Success' },
    }),
    none: () => ({ convertedObjects: [], result: { status: 'Success' } }),
    book: () => ({ result: { status: 'Failure', message: 'ä'.repeat(200_000) } }),
  };
  for (const [name, answer] of Object.entries(answers)) {
    hooks.answers.set('/convert', (asked) => {
      const { objects, uid } = conversionAsked(asked);
      return conversionAnswer(asked.apiVersion, { uid, ...answer(objects) });
    });
    const made = await ask('POST', migrations, {
      metadata: { name },
      spec: { resource: { group, resource: 'jars' } },
    });
    assert.equal(made.status, 201, made.text);
    const { status } = await over(cluster, name);
    const failed = findCondition(status?.conditions, 'Failed');
    assert.equal(failed?.status, 'True', name);
    assert.match(failed?.message ?? '', /^migration encountered unhandled error: /);
    assert.ok(Buffer.byteLength(failed?.message ?? '') <= 32 * 1024);
  }
  assert.deepEqual((await ask('GET', jars)).body['items'], before);
  const { status } = (await ask('GET', crd)).body as { status: { storedVersions: string[] } };
  assert.deepEqual(status.storedVersions, ['v1', 'v2'], 'nothing may be dropped');
});

test('a status that somebody else wrote can not make objects be passed over that were there before', async (t) => {
  const cluster = await startCluster(t, { storageVersionMigrator: true });
  const { ask } = cluster.server;
  const made = await ask('POST', migrations, {
    metadata: { name: 'm' },
    spec: { resource: { group: '', resource: 'namespaces' } },
    status: {
      resourceVersion: '1',
      conditions: [
        {
          type: 'Succeeded',
          status: 'True',
          reason: 'T',
          message: '',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    },
  });
  assert.equal(made.status, 201, made.text);
  const { metadata, status } = await over(cluster, 'm');
  assert.ok(
    Number(status?.resourceVersion) >=
      Number(made.body && (made.body['metadata'] as { resourceVersion: string }).resourceVersion),
  );
  assert.equal(metadata.name, 'm');
  for (const resourceVersion of [`${'9'.repeat(5_000)}`, '1'])
    assert.match(
      (await ask('PATCH', `${migrations}/m/status`, { status: { resourceVersion } })).message,
      /field is immutable/,
    );
});
