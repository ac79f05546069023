// Old versions get a sentence that helps, and every replacement is served.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { removedResource, removedVersions } from './removed-versions.ts';
import { createScheme } from './scheme.ts';

test('a DaemonSet of extensions/v1beta1 is sent to apps/v1', () => {
  assert.equal(
    removedResource('extensions', 'v1beta1', 'daemonsets'),
    'extensions/v1beta1 DaemonSet was removed in Kubernetes 1.16; use apps/v1 DaemonSet',
  );
  assert.match(removedResource('policy', 'v1beta1', 'podsecuritypolicies') ?? '', /nothing replaces it$/);
  assert.match(
    removedResource('networking.k8s.io', 'v1beta1', 'ingresses') ?? '',
    /use networking.k8s.io\/v1/,
  );
  assert.equal(removedResource('apps', 'v1', 'daemonsets'), undefined);
});

test('what replaces a removed kind is served, and no removed kind is', () => {
  const scheme = createScheme();
  for (const removed of removedVersions) {
    assert.equal(scheme.kind(removed), undefined);
    if (removed.replacement && removed.kind !== 'Eviction')
      assert.ok(scheme.kind(removed.replacement), removed.kind);
  }
});
