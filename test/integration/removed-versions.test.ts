// Requests for versions that Kubernetes has removed get an answer that names what took their place.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';

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
