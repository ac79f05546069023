// A token that nobody uses is kept for a year, marked, kept for another, and deleted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Secret } from '../../api/generated/types/core-v1.ts';
import { legacyTokenFate } from './legacy-token-fate.ts';

const day = 86_400_000;
const now = Date.parse('2030-06-15T12:00:00Z');
const secret = (labels: Record<string, string>, created = '2020-01-01T00:00:00Z'): Secret => ({
  metadata: { name: 's', namespace: 'n', labels, creationTimestamp: created },
});
const fate = (
  labels: Record<string, string>,
  since: string | undefined = '2020-01-01',
  created?: string,
): string => legacyTokenFate(secret(labels, created), { now, since, periodMs: 365 * day });
const used = 'kubernetes.io/legacy-token-last-used';
const invalid = 'kubernetes.io/legacy-token-invalid-since';

test('one that was used within the period, or made within it, stays', () => {
  assert.equal(fate({ [used]: '2030-06-15' }), 'keep');
  assert.equal(fate({ [used]: '2029-06-15' }), 'keep');
  assert.equal(fate({ [used]: '2029-06-14' }), 'mark');
  assert.equal(fate({}, '2020-01-01', '2029-06-16T00:00:00Z'), 'keep');
  assert.equal(fate({}), 'mark');
});

test('one that is marked is kept for the period, and goes; a mark that is no day is made anew', () => {
  assert.equal(fate({ [invalid]: '2029-06-15' }), 'keep');
  assert.equal(fate({ [invalid]: '2029-06-14' }), 'delete');
  assert.equal(fate({ [invalid]: '2029-06-14', [used]: '2030-01-01' }), 'keep');
  for (const text of ['', 'yesterday', '2029-13-01', '2029-02-30', '9999'])
    assert.equal(fate({ [invalid]: text }), 'mark');
});

test('nothing goes before uses were noted for the whole period, or by a day that can’t be read', () => {
  assert.equal(fate({ [invalid]: '2020-01-01' }, '2029-06-15'), 'keep');
  assert.equal(fate({ [invalid]: '2020-01-01' }, '2029-06-13'), 'delete');
  for (const since of ['', 'never', undefined])
    assert.equal(legacyTokenFate(secret({ [invalid]: '2020-01-01' }), { now, since, periodMs: day }), 'keep');
  assert.equal(fate({ [used]: 'long ago', [invalid]: '2020-01-01' }), 'keep');
});
