// Custom resources whose creation a slow webhook holds up while their definition goes, or goes and comes again: none is left behind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';
import { startWebhookServer } from '../harness/webhook-server.ts';

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const group = 'late.example.com';
const definition = {
  metadata: { name: `tardies.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'tardies', kind: 'Tardy' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};
const path = `/apis/${group}/v1/namespaces/default/tardies`;

for (const comesAgain of [false, true])
  test(`what was on the way while its definition went is refused${comesAgain ? ', also when another has its name by then' : ''}`, async (t) => {
    const plane = await startTestControlPlane();
    t.after(() => plane.close());
    const hook = await startWebhookServer();
    t.after(() => hook.close());
    const released = Promise.withResolvers<void>();
    t.after(() => released.resolve());
    hook.answers.set('/slow', async () => {
      await released.promise;
      return { allowed: true };
    });
    const webhooks = [
      {
        name: 'slow.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        timeoutSeconds: 30,
        clientConfig: { url: `${hook.url}/slow`, caBundle: hook.caBundle },
        rules: [{ apiGroups: [group], apiVersions: ['*'], operations: ['CREATE'], resources: ['*'] }],
      },
    ];
    const define = async (): Promise<void> => {
      const made = await plane.ask('POST', crds, definition);
      assert.equal(made.status, 201, made.text);
      await eventually(async () => assert.equal((await plane.ask('GET', path)).status, 200));
    };
    await define();
    const hooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
    assert.equal((await plane.ask('POST', hooks, { metadata: { name: 'slow' }, webhooks })).status, 201);
    await eventually(async () => {
      const dry = plane.ask('POST', `${path}?dryRun=All`, { metadata: { name: 'a' } });
      await eventually(() => assert.ok(hook.asked.length > 0), { timeoutMs: 1_000, everyMs: 20 });
      void dry;
    });
    const late = [
      plane.ask('POST', path, { metadata: { name: 'posted' } }),
      plane.ask(
        'PATCH',
        `${path}/applied?fieldManager=me`,
        { apiVersion: `${group}/v1`, kind: 'Tardy', metadata: { name: 'applied' } },
        { contentType: 'application/apply-patch+yaml' },
      ),
    ];
    // Not of those that were only tried: on a busy machine one of them comes as late.
    const names = (): string[] => hook.asked.map(({ request }) => request.name ?? '');
    await eventually(() => {
      for (const name of ['posted', 'applied']) assert.ok(names().includes(name), name);
    });
    const url = `${crds}/${definition.metadata.name}`;
    assert.equal((await plane.ask('DELETE', url)).status, 200);
    await eventually(async () => assert.equal((await plane.ask('GET', url)).status, 404));
    if (comesAgain) await define();
    released.resolve();
    for (const { status, body } of await Promise.all(late)) {
      assert.equal(status, 403, JSON.stringify(body));
      assert.match(
        String(body['message']),
        /^tardies.late.example.com "(posted|applied)" is forbidden: create not allowed while custom resource definition is terminating$/,
      );
    }
    if (!comesAgain) await define();
    assert.deepEqual((await plane.ask('GET', path)).body['items'], []);
    assert.equal((await plane.ask('POST', path, { metadata: { name: 'new' } })).status, 201);
  });
