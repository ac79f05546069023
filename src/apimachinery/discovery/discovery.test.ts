// Versions are ordered as clients expect.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareVersions } from './groups.ts';

test('versions are ordered stable first, then newest first', () => {
  const versions = ['v1alpha1', 'foo', 'v2beta1', 'v1', 'v10', 'v2', 'v2beta2'];
  assert.deepEqual(versions.sort(compareVersions), [
    'v10',
    'v2',
    'v1',
    'v2beta2',
    'v2beta1',
    'v1alpha1',
    'foo',
  ]);
});
