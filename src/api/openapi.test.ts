// The OpenAPI documents cover the paths and kinds of the real API.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { JsonObject } from '../apimachinery/json.ts';
import { obj } from '../apimachinery/json-access.ts';
import { openApiV2, openApiV3, openApiV3Paths } from '../apimachinery/openapi/document.ts';
import { encodeOpenApiV2 } from '../apimachinery/openapi/v2-protobuf.ts';
import { readDescriptions } from './descriptions/read-descriptions.ts';
import { createScheme } from './scheme.ts';

const scheme = createScheme();
const info = { title: 'Kubernetes', version: 'v1.36.0' };
const recorded: Record<string, Record<string, unknown>> = JSON.parse(
  readFileSync(new URL('./schema/paths.json', import.meta.url), 'utf8'),
);

test('every resource path of upstream is in the v2 document with the same methods', () => {
  const paths = obj(openApiV2(scheme, { info })['paths']);
  const missing: string[] = [];
  for (const [path, item] of Object.entries(recorded)) {
    if (!/^\/(api\/v1|apis\/[^/]+\/v[^/]+)\/./.test(path) || path.includes('/proxy')) continue;
    for (const method of Object.keys(item)) if (!obj(paths[path])[method]) missing.push(`${method} ${path}`);
  }
  assert.deepEqual(missing, []);
});

test('every reference of every document leads to a definition', () => {
  for (const path of openApiV3Paths(scheme)) {
    const parts = path.split('/');
    const [group, version] = parts[0] === 'api' ? ['', parts[1]!] : [parts[1]!, parts[2]!];
    const document = openApiV3(scheme, group, version, { info })!;
    const schemas = obj(obj(document['components'])['schemas']);
    for (const [, name] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      assert.ok(Object.hasOwn(schemas, name!), `${path}: ${name}`);
  }
});

const describe = await readDescriptions();

/** Definitions, and properties of definitions, that say nothing of themselves. */
const silent = (definitions: JsonObject): string[] =>
  Object.entries(definitions).flatMap(([name, definition]) => [
    ...(obj(definition)['description'] ? [] : [name]),
    ...Object.entries(obj(obj(definition)['properties']))
      .filter(([, property]) => !obj(property)['description'])
      .map(([field]) => `${name}.${field}`),
  ]);

test('every definition of the v2 document and each of its properties is described', () => {
  const definitions = obj(openApiV2(scheme, { info, describe })['definitions']);
  assert.ok(Object.keys(definitions).length > 500);
  assert.deepEqual(silent(definitions), []);
  assert.ok(silent(obj(openApiV2(scheme, { info })['definitions'])).length > 2000);
});

test('and so is everything of v3, where a description stands beside no reference', () => {
  for (const path of openApiV3Paths(scheme)) {
    const parts = path.split('/');
    const [group, version] = parts[0] === 'api' ? ['', parts[1]!] : [parts[1]!, parts[2]!];
    const document = openApiV3(scheme, group, version, { info, describe })!;
    assert.deepEqual(silent(obj(obj(document['components'])['schemas'])), [], path);
    assert.ok(!/"\$ref":"[^"]*","/.test(JSON.stringify(document)), path);
  }
});

test('a description comes through in the protobuf form', () => {
  const definitions = obj(openApiV2(scheme, { info, describe })['definitions']);
  const spec = obj(definitions['io.k8s.api.core.v1.PodSpec']);
  const bytes = Buffer.from(encodeOpenApiV2({ definitions: { PodSpec: spec } }));
  for (const text of [spec['description'], obj(obj(spec['properties'])['affinity'])['description']])
    assert.ok(bytes.includes(text as string), text as string);
});

test('a patch of a pod takes dryRun and fieldValidation, which kubectl looks for', () => {
  const document = openApiV3(scheme, '', 'v1', { info })!;
  const patch = obj(obj(obj(document['paths'])['/api/v1/namespaces/{namespace}/pods/{name}'])['patch']);
  const names = (patch['parameters'] as { name: string }[]).map((p) => p.name);
  assert.ok(names.includes('dryRun') && names.includes('fieldValidation'));
  assert.deepEqual(patch['x-kubernetes-group-version-kind'], { group: '', version: 'v1', kind: 'Pod' });
});

test('the protobuf form begins with the version and is of a sensible size', () => {
  const bytes = encodeOpenApiV2(openApiV2(scheme, { info }));
  assert.deepEqual([...bytes.subarray(0, 5)], [10, 3, 50, 46, 48]);
  assert.ok(bytes.length > 300_000 && bytes.length < 5_000_000, String(bytes.length));
});
