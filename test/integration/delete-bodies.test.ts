// A DELETE whose body is of another kind is refused in upstream's words.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';

let cluster: TestControlPlane;
before(async () => {
  cluster = await startTestControlPlane();
});
after(() => cluster.close());

const scheme = '"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"';

for (const [body, message] of [
  [{ kind: 'Pod', apiVersion: 'v1' }, `no kind "Pod" is registered for version "v1" in scheme ${scheme}`],
  [{ kind: 'Pod' }, `no kind "Pod" is registered for version "meta.k8s.io/v1" in scheme ${scheme}`],
  [{ kind: 'Status', apiVersion: 'v1' }, 'converting (v1.Status) to (v1.DeleteOptions): unknown conversion'],
] as const)
  test(`a deletion by ${JSON.stringify(body)} is refused as upstream refuses it`, async () => {
    const answer = await cluster.ask('DELETE', '/api/v1/namespaces/default/configmaps/none', body);
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.message, message);
  });
