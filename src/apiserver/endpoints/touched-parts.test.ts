// Only what a patch touched is read again.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { applyMergePatch } from '../../apimachinery/patch/merge-patch.ts';
import { readTouched } from './touched-parts.ts';

const current: JsonObject = {
  kind: 'Pod',
  metadata: { name: 'a', labels: { b: 'c' }, managedFields: [{ manager: 'm' }] },
  spec: { containers: [{ name: 'c' }] },
  status: { phase: 'Pending', conditions: [{ type: 'Ready' }] },
};

test('what the patch left alone is the very same, and nobody reads it; what it touched is a copy', () => {
  const stored = structuredClone(current);
  const patched = applyMergePatch(current, { metadata: { uid: 'u' }, status: { phase: 'Failed', odd: 1 } });
  const seen: JsonObject[] = [];
  const whole = readTouched(patched, current, (parts) => {
    seen.push(structuredClone(parts));
    // As a decoder does: in place, without what it does not know, and with defaults.
    const status = parts['status'] as JsonObject;
    delete status['odd'];
    (status['conditions'] as JsonObject[])[0]!['status'] = 'Unknown';
    return Object.assign(parts, { extra: true });
  });
  assert.deepEqual(seen, [
    {
      kind: 'Pod',
      metadata: { name: 'a', uid: 'u' },
      status: { phase: 'Failed', conditions: [{ type: 'Ready' }], odd: 1 },
    },
  ]);
  assert.deepEqual(Object.keys(whole), ['kind', 'metadata', 'spec', 'status', 'extra']);
  assert.equal(whole['spec'], current['spec']);
  const before = current['metadata'] as JsonObject;
  const after: JsonObject = whole['metadata'] as JsonObject;
  assert.deepEqual({ ...after, uid: undefined }, { ...before, uid: undefined });
  assert.equal(after['managedFields'], before['managedFields']);
  assert.deepEqual(whole['status'], {
    phase: 'Failed',
    conditions: [{ type: 'Ready', status: 'Unknown' }],
  });
  assert.deepEqual(current, stored, 'the stored object is as it was');
});

test('metadata that is no object any more is for the reader to refuse', () => {
  const patched = applyMergePatch(current, { metadata: 'none' });
  readTouched(patched, current, (parts) => {
    assert.equal(parts['metadata'], 'none');
    return parts;
  });
});
