// The OpenAPI documents cover the paths and kinds of the real API.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { servedGroups } from '../apimachinery/discovery/groups.ts';
import type { JsonObject } from '../apimachinery/json.ts';
import { obj } from '../apimachinery/json-access.ts';
import { openApiV2Frame, openApiV2Part, openApiV3 } from '../apimachinery/openapi/document.ts';
import { encodeOpenApiV2Part, joinOpenApiV2 } from '../apimachinery/openapi/v2-protobuf.ts';
import { readDescriptions } from './descriptions/read-descriptions.ts';
import { createScheme } from './scheme.ts';

const scheme = createScheme();
const info = { title: 'Kubernetes', version: 'v1.36.0' };
const recorded: Record<string, Record<string, unknown>> = JSON.parse(
  readFileSync(new URL('./schema/paths.json', import.meta.url), 'utf8'),
);

test('every resource path of upstream is in the v2 document with the same methods', () => {
  const { paths } = openApiV2Part(scheme, scheme.resources());
  const missing: string[] = [];
  for (const [path, item] of Object.entries(recorded)) {
    if (!/^\/(api\/v1|apis\/[^/]+\/v[^/]+)\/./.test(path) || path.includes('/proxy')) continue;
    for (const method of Object.keys(item)) if (!obj(paths[path])[method]) missing.push(`${method} ${path}`);
  }
  assert.deepEqual(missing, []);
});

const groupVersions = servedGroups(scheme.resources()).flatMap(({ group, versions }) =>
  versions.map((version) => ({ group, ...version })),
);

test('every reference of every document leads to a definition', () => {
  for (const { resources, version, group } of groupVersions) {
    const document = openApiV3(scheme, resources, { info });
    const schemas = obj(obj(document['components'])['schemas']);
    for (const [, name] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      assert.ok(Object.hasOwn(schemas, name!), `${group}/${version}: ${name}`);
  }
});

const describe = await readDescriptions();
const definitionsV2 = (form: object): JsonObject =>
  openApiV2Part(scheme, scheme.resources(), form).definitions;

/** Definitions, and properties of definitions, that say nothing of themselves. */
const silent = (definitions: JsonObject): string[] =>
  Object.entries(definitions).flatMap(([name, definition]) => [
    ...(obj(definition)['description'] ? [] : [name]),
    ...Object.entries(obj(obj(definition)['properties']))
      .filter(([, property]) => !obj(property)['description'])
      .map(([field]) => `${name}.${field}`),
  ]);

test('every definition of the v2 document and each of its properties is described', () => {
  const definitions = definitionsV2({ describe });
  assert.ok(Object.keys(definitions).length > 500);
  assert.deepEqual(silent(definitions), []);
  assert.ok(silent(definitionsV2({})).length > 2000);
});

test('and so is everything of v3, where a description stands beside no reference', () => {
  for (const { resources, version, group } of groupVersions) {
    const document = openApiV3(scheme, resources, { info, describe });
    assert.deepEqual(silent(obj(obj(document['components'])['schemas'])), [], `${group}/${version}`);
    assert.ok(!/"\$ref":"[^"]*","/.test(JSON.stringify(document)), `${group}/${version}`);
  }
});

test('a description comes through in the protobuf form', () => {
  const spec = obj(definitionsV2({ describe })['io.k8s.api.core.v1.PodSpec']);
  const { definitions } = encodeOpenApiV2Part({ paths: {}, definitions: { PodSpec: spec } });
  for (const text of [spec['description'], obj(obj(spec['properties'])['affinity'])['description']])
    assert.ok(Buffer.from(definitions).includes(text as string), text as string);
});

test('a patch of a pod takes dryRun and fieldValidation, which kubectl looks for', () => {
  const document = openApiV3(scheme, groupVersions.find(({ group }) => group === '')!.resources, { info });
  const patch = obj(obj(obj(document['paths'])['/api/v1/namespaces/{namespace}/pods/{name}'])['patch']);
  const names = (patch['parameters'] as { name: string }[]).map((p) => p.name);
  assert.ok(names.includes('dryRun') && names.includes('fieldValidation'));
  assert.deepEqual(patch['x-kubernetes-group-version-kind'], { group: '', version: 'v1', kind: 'Pod' });
});

test('the protobuf form begins with the version and is of a sensible size', () => {
  const parts = [encodeOpenApiV2Part(openApiV2Part(scheme, scheme.resources()))];
  const bytes = Buffer.concat(joinOpenApiV2(openApiV2Frame(info), parts));
  assert.deepEqual([...bytes.subarray(0, 5)], [10, 3, 50, 46, 48]);
  assert.ok(bytes.length > 300_000 && bytes.length < 5_000_000, String(bytes.length));
});
