// Requests for versions that Kubernetes has removed get an answer that names what took their place.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';

test('a removed resource answers 404 with its replacement, an unknown one the bare page', async () => {
  const { ask, close } = await startTestControlPlane();
  const url = '/apis/extensions/v1beta1/namespaces/default/daemonsets';
  for (const [method, body] of [
    ['POST', { apiVersion: 'extensions/v1beta1', kind: 'DaemonSet', metadata: { name: 'my-daemonset' } }],
    ['GET', undefined],
  ] as const) {
    const answer = await ask(method, url, body);
    assert.equal(answer.status, 404);
    assert.equal(answer.body.reason, 'NotFound');
    assert.equal(
      answer.body.message,
      'extensions/v1beta1 DaemonSet was removed in Kubernetes 1.16; use apps/v1 DaemonSet',
    );
  }
  const served = await ask('GET', '/apis/apps/v1/namespaces/default/nothings');
  assert.equal(served.body.message, 'the server could not find the requested resource');
  await close();
});

test('who asks for the schema of a removed version is warned, and discovery does not know it', async () => {
  const { ask, close } = await startTestControlPlane();
  const index = (await ask('GET', '/openapi/v3')).body['paths'] as Record<
    string,
    { serverRelativeURL: string }
  >;
  const url = index['apis/extensions/v1beta1']!.serverRelativeURL;
  for (let i = 0; i < 2; i++) {
    const { body, warnings } = await ask('GET', url);
    assert.deepEqual(body['paths'], {});
    assert.equal(warnings.length, 1);
    assert.match(
      warnings[0]!,
      /extensions\/v1beta1 is served no more: use apps\/v1 for DaemonSet, Deployment, ReplicaSet; use networking\.k8s\.io\/v1 for NetworkPolicy, Ingress; nothing replaces PodSecurityPolicy/,
    );
  }
  const served = await ask('GET', index['apis/apps/v1']!.serverRelativeURL);
  assert.deepEqual(served.warnings, []);
  const groups = (await ask('GET', '/apis')).body['groups'] as {
    name: string;
    versions: { version: string }[];
  }[];
  assert.equal(
    groups.some(({ name }) => name === 'extensions'),
    false,
  );
  assert.deepEqual(
    groups.find(({ name }) => name === 'apps')!.versions.map(({ version }) => version),
    ['v1'],
  );
  await close();
});

test('a removed version that a definition serves again is that of the definition', async () => {
  const { ask, close } = await startTestControlPlane();
  const path = '/openapi/v3/apis/node.k8s.io/v1beta1';
  assert.equal((await ask('GET', path)).warnings.length, 1);
  const made = await ask('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: {
      name: 'lamps.node.k8s.io',
      annotations: { 'api-approved.kubernetes.io': 'unapproved, a test' },
    },
    spec: {
      group: 'node.k8s.io',
      scope: 'Namespaced',
      names: { plural: 'lamps', kind: 'Lamp' },
      versions: [
        { name: 'v1beta1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
      ],
    },
  });
  assert.equal(made.status, 201, made.text);
  await eventually(async () => {
    const { body, warnings } = await ask('GET', path);
    assert.deepEqual(warnings, []);
    assert.ok('/apis/node.k8s.io/v1beta1/namespaces/{namespace}/lamps' in (body['paths'] as object));
  });
  await close();
});
