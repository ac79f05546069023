// What an update does, it does once: the stored object is read once, and prepared once, after the plugins that change it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createScheme } from '../../src/api/scheme.ts';
import type { JsonObject, Scheme } from '../../src/apimachinery/declaration.ts';
import { obj } from '../../src/apimachinery/json-access.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../src/apiserver/admission/admission.ts';
import { startTestServer, type TestServer } from '../../src/apiserver/testing/test-server.ts';

const prepared: JsonObject[] = [];
let seen: AdmissionRequest | undefined;

const podSpecOf = (deployment: JsonObject | undefined): JsonObject =>
  obj(obj(obj(deployment?.['spec'])['template'])['spec']);

/** Changes what it is given, deep inside. */
const plugin: AdmissionPlugin = {
  name: 'Marker',
  operations: ['UPDATE'],
  admit(request) {
    seen = { ...request, object: structuredClone(request.object) };
    podSpecOf(request.object)['schedulerName'] = 'marked';
  },
};

/** The built-in kinds, and Deployments that tell when they are prepared. */
function tellingScheme(): Scheme {
  const scheme = createScheme();
  const telling = scheme.resources().map((declaration) =>
    declaration.resource !== 'deployments'
      ? declaration
      : {
          ...declaration,
          strategy: {
            ...declaration.strategy,
            prepareForUpdate: (object: JsonObject) => void prepared.push(structuredClone(object)),
          },
        },
  );
  return {
    ...scheme,
    resources: () => telling,
    resource: (group, version, resource) =>
      telling.find((d) => d.group === group && d.version === version && d.resource === resource),
  };
}

let server: TestServer;
before(async () => {
  server = await startTestServer({ scheme: tellingScheme(), admission: [plugin] });
});
after(() => server.close());

const url = '/apis/apps/v1/namespaces/w/deployments';
const deployment = (name: string, image: string): JsonObject => ({
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: 'a' } },
    template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image }] } },
  },
});

/** How often JSON that holds the object's uid was parsed while `work` ran. */
async function readings(uid: string, work: () => Promise<unknown>): Promise<number> {
  const parse = JSON.parse;
  let count = 0;
  JSON.parse = (text, ...rest) => {
    if (String(text).includes(uid)) count++;
    return parse(text, ...rest);
  };
  try {
    await work();
  } finally {
    JSON.parse = parse;
  }
  return count;
}

const made = async (name: string): Promise<JsonObject> =>
  (await server.request('POST', url, deployment(name, 'a:1'))).json() as JsonObject;

test('a patch reads the stored object once and prepares its result once, after the plugins', async () => {
  const object = await made('patched');
  prepared.length = 0;
  const patch = { spec: { template: { spec: { containers: [{ name: 'c', image: 'a:2' }] } } } };
  const headers = { 'content-type': 'application/strategic-merge-patch+json' };
  const count = await readings(String(obj(object['metadata'])['uid']), async () => {
    const response = await server.handle('PATCH', `${url}/patched`, patch, { headers });
    assert.equal(response.status, 200);
  });
  const answer = (await server.request('GET', `${url}/patched`)).json() as JsonObject;
  assert.equal(count, 1);
  assert.equal(prepared.length, 1);
  assert.equal(podSpecOf(prepared[0])['schedulerName'], 'marked');
  assert.equal(podSpecOf(answer)['schedulerName'], 'marked');
  assert.equal(obj(answer['metadata'])['generation'], 2);
});

test('what a plugin changes in the new object stays as it was in the old one', async () => {
  await made('apart');
  const headers = { 'content-type': 'application/merge-patch+json' };
  await server.request('PATCH', `${url}/apart`, { metadata: { labels: { a: 'b' } } }, { headers });
  assert.equal(podSpecOf(seen?.oldObject)['schedulerName'], 'default-scheduler');
});

test('a PUT reads the stored object once; plugins see what was sent, with what only the server sets', async () => {
  const object = await made('put');
  prepared.length = 0;
  const body = { ...deployment('put', 'a:3'), status: { replicas: 7 } };
  const uid = String(obj(object['metadata'])['uid']);
  const count = await readings(uid, async () => {
    const response = await server.handle('PUT', `${url}/put`, body);
    assert.equal(response.status, 200);
  });
  assert.equal(count, 1);
  assert.equal(prepared.length, 1);
  assert.equal(obj(seen?.object?.['status'])['replicas'], 7);
  assert.equal(obj(seen?.object?.['metadata'])['uid'], uid);
  assert.equal(obj(prepared[0]?.['status'])['replicas'], undefined);
});
