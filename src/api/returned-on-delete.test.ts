// Which kinds answer a DELETE with the object.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScheme } from './scheme.ts';

test('deleting a pod or a service gives it back, deleting a config map gives a Status', () => {
  const scheme = createScheme();
  const returned = (resource: string): boolean | undefined =>
    scheme.resource('', 'v1', resource)?.strategy.returnDeletedObject;
  assert.deepEqual(['pods', 'services', 'configmaps'].map(returned), [true, true, false]);
});

test('a node may register with its status, a pod may not', () => {
  const scheme = createScheme();
  const keeps = (resource: string): boolean | undefined =>
    scheme.resource('', 'v1', resource)?.strategy.keepsStatusOnCreate;
  assert.deepEqual(['nodes', 'pods'].map(keeps), [true, undefined]);
});
