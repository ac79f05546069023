// What was stored before its definition changed is served as the definition says now, by every way of reading it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { JsonObject } from '../../src/apimachinery/declaration.ts';
import { obj, objs, spec } from '../../src/apimachinery/json-access.ts';
import { decodeEntry, encodeDraft } from '../../src/apiserver/registry/encode.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import {
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { MemoryStorage } from '../../src/storage/memory/memory-storage.ts';
import { eventually } from '../harness/eventually.ts';
import { startWebhookServer } from '../harness/webhook-server.ts';

let cluster: TestControlPlane;
const storage = new MemoryStorage(systemClock);
before(async () => {
  cluster = await startTestControlPlane({ storage });
});
after(() => cluster.close());

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const url = `${crds}/things.defaults.example.com`;
const things = (version = 'v1'): string => `/apis/defaults.example.com/${version}/namespaces/default/things`;
const integer = { type: 'integer' };
const version = (name: string, properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  name,
  served: true,
  storage: name === 'v1',
  schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } } },
  ...more,
});
const definition = (...versions: JsonObject[]): JsonObject => ({
  metadata: { name: 'things.defaults.example.com' },
  spec: {
    group: 'defaults.example.com',
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions,
  },
});
const merge = { contentType: 'application/merge-patch+json' };
const read = async (at: string): Promise<JsonObject> => (await cluster.ask('GET', at)).body as JsonObject;

async function change(...versions: JsonObject[]): Promise<void> {
  const { status, text } = await cluster.ask('PATCH', url, { spec: { versions } }, merge);
  assert.equal(status, 200, text);
}

test('reads of old objects have the defaults of now, and nothing that the schema no longer knows', async () => {
  await cluster.ask('POST', crds, definition(version('v1', { size: integer, gone: integer })));
  await eventually(
    async () => {
      const made = await cluster.ask('POST', things(), { metadata: { name: 'old' }, spec: { gone: 1 } });
      assert.equal(made.status, 201, made.text);
    },
    { everyMs: 5 },
  );
  const stored = await read(`${things()}/old`);
  await change(version('v1', { size: { ...integer, default: 3 } }));
  await eventually(async () => assert.deepEqual(spec(await read(`${things()}/old`)), { size: 3 }), {
    everyMs: 5,
  });
  const found = await read(`${things()}/old`);
  assert.deepEqual(found['metadata'], stored['metadata'], 'nothing was written');
  await cluster.ask('POST', things(), { metadata: { name: 'new' }, spec: {} });
  const list = await read(things());
  assert.deepEqual(
    objs(list['items']).map((item) => [obj(item['metadata'])['name'], item['spec']]),
    [
      ['new', { size: 3 }],
      ['old', { size: 3 }],
    ],
  );
  const watch = await cluster.ask(
    'GET',
    `${things()}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dold`,
  );
  assert.deepEqual(spec(obj(JSON.parse(watch.text)).object as JsonObject), { size: 3 });
});

test('a write of an old object stores what is served, and generations count what changed', async () => {
  const before = await read(`${things()}/old`);
  const same = await cluster.ask('PUT', `${things()}/old`, before);
  assert.equal(same.status, 200, same.text);
  const written = obj((same.body as JsonObject)['metadata']);
  assert.notEqual(written['resourceVersion'], obj(before['metadata'])['resourceVersion']);
  assert.equal(written['generation'], 1);
  const again = await cluster.ask('PUT', `${things()}/old`, same.body);
  assert.deepEqual(again.body['metadata'], written, 'now it is as it is served');
});

test('what is stored has the defaults of the stored version in every other', async () => {
  await change(
    version('v1', { size: { ...integer, default: 3 } }),
    version('v2', { colour: { type: 'string', default: 'red' }, size: integer }),
  );
  await eventually(async () => assert.equal((await cluster.ask('GET', `${things('v2')}/old`)).status, 200), {
    everyMs: 5,
  });
  const other = { size: 3 };
  assert.deepEqual(spec(await read(`${things('v2')}/old`)), other);
  assert.deepEqual(objs((await read(things('v2')))['items']).map(spec), [other, other]);
  assert.deepEqual(spec(await read(`${things()}/old`)), { size: 3 });
});

test('what another version wrote has the defaults of the stored version, whoever reads it, and none that were not stored', async () => {
  const made = await cluster.ask('POST', things('v2'), { metadata: { name: 'other' }, spec: {} });
  assert.equal(made.status, 201, made.text);
  assert.deepEqual(spec(made.body as JsonObject), { size: 3 });
  assert.deepEqual(spec(await read(`${things()}/other`)), { size: 3 });
  const again = await cluster.ask('PUT', `${things('v2')}/other`, { ...made.body, spec: { size: 4 } });
  assert.deepEqual(spec(again.body as JsonObject), { size: 4 });
  assert.deepEqual(spec(await read(`${things('v2')}/other`)), { size: 4 });
});

test('what an older definition stored is read by the schema of the version that it is stored in', async () => {
  const inV1 = await cluster.ask('POST', things(), { metadata: { name: 'before' }, spec: {} });
  assert.deepEqual(spec(inV1.body as JsonObject), { size: 3 });
  const weight = { ...integer, default: 7 };
  const versions = [
    version('v1', { weight }, { storage: false }),
    version('v2', { size: { ...integer, default: 9 }, weight: integer }, { storage: true }),
    version('v3', { size: integer, weight: integer }),
  ];
  await change(...versions);
  await eventually(
    async () => assert.equal((await cluster.ask('GET', `${things('v3')}/before`)).status, 200),
    {
      everyMs: 5,
    },
  );
  // v1 knows no size any more; that v2 is stored now says nothing of what was.
  for (const name of ['v1', 'v2', 'v3'])
    assert.deepEqual(spec(await read(`${things(name)}/before`)), { weight: 7 }, name);
});

test('a write that its definition overtook is read by what the definition says now', async (t) => {
  const server = await startWebhookServer();
  t.after(() => server.close());
  const name = 'laters.defaults.example.com';
  const laters = '/apis/defaults.example.com/v1/namespaces/default/laters';
  const { spec: said } = definition(version('v1', { size: integer })) as { spec: JsonObject };
  const names = { plural: 'laters', kind: 'Later' };
  await cluster.ask('POST', crds, { metadata: { name }, spec: { ...said, names } });
  await eventually(async () => assert.equal((await cluster.ask('GET', laters)).status, 200), { everyMs: 5 });
  await cluster.ask('POST', laters, { metadata: { name: 'before' }, spec: {} });
  const registration = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
  const registered = await cluster.ask('POST', registration, {
    metadata: { name: 'slow' },
    webhooks: [
      {
        name: 'slow.example.com',
        clientConfig: { url: `${server.url}/slow`, caBundle: server.caBundle },
        rules: [
          {
            operations: ['CREATE'],
            apiGroups: ['defaults.example.com'],
            apiVersions: ['*'],
            resources: ['laters'],
          },
        ],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  assert.equal(registered.status, 201, registered.text);
  server.answers.set('/slow', async () => {
    const versions = [version('v1', { size: { ...integer, default: 3 } })];
    await cluster.ask(
      'PATCH',
      `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`,
      { spec: { versions } },
      merge,
    );
    await eventually(async () => assert.deepEqual(spec(await read(`${laters}/before`)), { size: 3 }), {
      everyMs: 5,
    });
    return { allowed: true };
  });
  const made = await cluster.ask('POST', laters, { metadata: { name: 'late' }, spec: {} });
  assert.deepEqual([made.status, made.body['spec']], [201, {}], made.text);
  assert.deepEqual(spec(await read(`${laters}/late`)), { size: 3 });
  const listed = objs((await read(laters))['items']);
  assert.deepEqual(listed.map(spec), [{ size: 3 }, { size: 3 }]);
});

test('what an older server stored by a definition that never changed has its defaults after a start', async (t) => {
  const own = new MemoryStorage(systemClock);
  const first = await startTestControlPlane({ storage: own });
  t.after(() => first.close());
  await first.ask('POST', crds, definition(version('v1', { size: { ...integer, default: 3 } })));
  await eventually(
    async () => {
      const made = await first.ask('POST', things(), { metadata: { name: 'old' }, spec: {} });
      assert.equal(made.status, 201, made.text);
    },
    { everyMs: 5 },
  );
  const { entries } = await own.list('');
  const entry = entries.find(({ key }) => key.endsWith('things/default/old'))!;
  await own.update(entry.key, encodeDraft({ ...decodeEntry(entry.value), spec: {} }), entry.revision);
  const second = await startTestControlPlane({ storage: own, pki: first.pki });
  t.after(() => second.close());
  const found = await second.ask('GET', `${things()}/old`);
  assert.deepEqual(spec(found.body as JsonObject), { size: 3 });
});

test('a server that starts anew tells the same', async () => {
  const second = await startTestControlPlane({ storage });
  try {
    const found = await second.ask('GET', `${things('v3')}/before`);
    assert.deepEqual(spec(found.body as JsonObject), { weight: 7 });
  } finally {
    await second.close();
  }
});
