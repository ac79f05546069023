// Metadata cut out of stored bytes is what parsing them gives, whatever stands in its texts; what is not stored so is told.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { encodeDraft } from './encode.ts';
import { storedMetadata } from './stored-metadata.ts';

const stored = (metadata: JsonObject, more: JsonObject = {}): Buffer =>
  Buffer.from(encodeDraft({ apiVersion: 'v1', kind: 'ConfigMap', metadata, ...more }).bytes);

const cases: readonly (readonly [string, JsonObject])[] = [
  ['a name', { name: 'a' }],
  ['nothing but a revision', {}],
  ['braces and quotes in texts', { name: 'a', annotations: { k: '}}{"metadata":{"name":"x"}', '"}': '\\' } }],
  ['backslashes before quotes', { name: 'a', annotations: { a: '\\"', b: '\\\\', c: '\\\\"}' } }],
  ['letters of several bytes', { name: 'a', labels: { ä: '日本語}', '😀': '{' } }],
  ['control characters and a lone surrogate', { name: 'a', annotations: { a: '\u0000\n\u2028\ud800' } }],
  ['objects and lists', { name: 'a', managedFields: [{ fieldsV1: { 'f:a': { '.': {} } } }, []] }],
];

for (const [what, metadata] of cases)
  test(`the metadata alone: ${what}`, () => {
    const value = stored(metadata, {
      data: { after: '"metadata":{"name":"other"}}' },
      metadata2: { name: 'b' },
    });
    assert.deepEqual(
      JSON.parse(String(storedMetadata(value))),
      (JSON.parse(value.toString()) as JsonObject)['metadata'],
    );
  });

test('of what is written otherwise it says nothing', () => {
  for (const text of [
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}',
    '{"kind":"a\\"","apiVersion":"v1","metadata":{"name":"a"}}',
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":null}',
    '{"kind":"ConfigMap","apiVersion":"v1"}',
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"}',
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a\\',
    'null',
    '',
  ])
    assert.equal(storedMetadata(Buffer.from(text)), undefined, text);
});

test('a megabyte of backslashes and braces takes no longer than a few reads of it', () => {
  const value = stored({ name: 'a', annotations: { a: '\\'.repeat(500_000), b: '{"'.repeat(200_000) } });
  const began = process.cpuUsage();
  assert.equal(
    storedMetadata(value)?.length,
    value.length - '{"kind":"ConfigMap","apiVersion":"v1","metadata":'.length - 1,
  );
  const { user } = process.cpuUsage(began);
  assert.ok(user < 1_000_000, `${user} µs`);
});
