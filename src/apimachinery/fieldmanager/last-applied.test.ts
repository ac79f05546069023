// What kubectl applied by the client is not held against its first server-side apply.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { JsonObject, SchemaSource, TypeSchema } from '../declaration.ts';
import type { StatusError } from '../errors.ts';
import { applyPatch } from './apply-patch.ts';
import { trackUpdate } from './field-manager.ts';

const types = JSON.parse(
  readFileSync(new URL('../../api/schema/types.json', import.meta.url), 'utf8'),
) as Record<string, TypeSchema>;
const source: SchemaSource = { type: (name) => types[name] };
const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
const base = {
  schema: source,
  type: 'io.k8s.api.core.v1.ConfigMap',
  apiVersion: 'v1',
  subresource: '',
  time: '2026-01-01T00:00:00Z',
};
const configMap = (data: JsonObject): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'c', namespace: 'default', annotations: {} },
  data,
});

/** As `kubectl apply` by the client leaves it. */
function appliedByClient(data: JsonObject): JsonObject {
  const plain = configMap(data);
  const metadata = {
    ...(plain['metadata'] as JsonObject),
    annotations: { [annotation]: `${JSON.stringify(plain)}\n` },
  };
  return trackUpdate({
    ...base,
    live: undefined,
    result: { ...plain, metadata },
    manager: 'kubectl-client-side-apply',
  });
}
const edited = (live: JsonObject, data: JsonObject): JsonObject =>
  trackUpdate({ ...base, live, result: { ...live, data }, manager: 'kubectl-edit' });
const apply = (live: JsonObject, data: JsonObject, manager = 'kubectl'): JsonObject =>
  applyPatch({ ...base, live, patch: configMap(data), manager, force: false });
const annotationOf = (object: JsonObject): unknown =>
  ((object['metadata'] as JsonObject)['annotations'] as JsonObject)[annotation];

test('a field that the annotation names is changed without a conflict, and the annotation follows', () => {
  const result = apply(appliedByClient({ a: '1', b: '1' }), { a: '2', b: '1' });
  assert.deepEqual(result['data'], { a: '2', b: '1' });
  assert.equal(
    annotationOf(result),
    '{"apiVersion":"v1","data":{"a":"2","b":"1"},"kind":"ConfigMap","metadata":{"annotations":{},"name":"c","namespace":"default"}}\n',
  );
});

test('a field that somebody else changed since stays a conflict, and only that one', () => {
  const live = edited(appliedByClient({ a: '1', b: '1' }), { a: '1', b: 'edited' });
  assert.throws(
    () => apply(live, { a: '2', b: '2' }),
    (error: StatusError) =>
      error.code === 409 &&
      error.message === 'Apply failed with 1 conflict: conflict with "kubectl-edit" using v1: .data.b',
  );
});

test('another manager has the conflict, and leaves the annotation as it is', () => {
  const live = appliedByClient({ a: '1' });
  assert.throws(() => apply(live, { a: '2' }, 'somebody'), /conflict with "kubectl-client-side-apply"/);
  assert.equal(annotationOf(apply(live, { a: '1', b: '1' }, 'somebody')), annotationOf(live));
});

test('an annotation that can not be read allows nothing', () => {
  const live = appliedByClient({ a: '1' });
  const metadata = live['metadata'] as JsonObject;
  for (const text of ['{', '[]', '{"apiVersion":"v2","data":{"a":"1"}}']) {
    const broken = { ...live, metadata: { ...metadata, annotations: { [annotation]: text } } };
    assert.throws(() => apply(broken, { a: '2' }), /conflict with "kubectl-client-side-apply"/);
  }
});
