// The stored form of an object: kind first, and a place for the revision that the store fills in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withRevision } from '../../storage/stamp.ts';
import { encodeDraft } from './encode.ts';

test('encodeDraft leaves an empty resourceVersion at the offset that it tells, whatever the names are', () => {
  const object = {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: {
      name: 'ä',
      generateName: '"resourceVersion":"',
      uid: 'u',
      resourceVersion: '7',
      labels: { resourceVersion: '9' },
    },
    data: { k: 'é' },
  };
  const { bytes, revisionAt } = encodeDraft(object);
  const text = Buffer.from(bytes);
  assert.equal(text.subarray(revisionAt - 19, revisionAt + 1).toString(), '"resourceVersion":""');
  const stamped = Buffer.concat([text.subarray(0, revisionAt), Buffer.from('42'), text.subarray(revisionAt)]);
  assert.deepEqual(JSON.parse(stamped.toString()), {
    ...object,
    metadata: { ...object.metadata, resourceVersion: '42' },
  });
  const again = JSON.parse(withRevision(stamped, 1000).toString()) as typeof object;
  assert.equal(again.metadata.resourceVersion, '1000');
  assert.equal(again.metadata.generateName, '"resourceVersion":"');
});

test('encodeDraft copes with metadata that holds nothing else', () => {
  const { bytes } = encodeDraft({ kind: 'A', apiVersion: 'v1', metadata: {} });
  assert.equal(
    Buffer.from(bytes).toString(),
    '{"kind":"A","apiVersion":"v1","metadata":{"resourceVersion":""}}',
  );
});
