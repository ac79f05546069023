// Revisions compared as texts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareResourceVersions, resourceVersionError } from './resource-version.ts';

test('revisions are compared by their value, however long they are', () => {
  const long = `1${'0'.repeat(40)}`;
  assert.ok(compareResourceVersions('9', '10') < 0);
  assert.ok(compareResourceVersions(long, '99') > 0);
  assert.ok(compareResourceVersions('21', '12') > 0);
  assert.equal(compareResourceVersions('12', '12'), 0);
});

test('what is no revision is told as upstream tells it', () => {
  for (const text of ['', '0', '01', '-1', '1.0', 'abc', ' 1', '1\n'])
    assert.equal(resourceVersionError(text), `resource version is not well formed: ${text}`);
  assert.equal(resourceVersionError('1'), undefined);
  assert.throws(() => compareResourceVersions('1', 'x'), /resource version is not well formed: x/);
});
