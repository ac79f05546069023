// One request with as much in it as a body can hold: the answer is bounded, and others are served meanwhile.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  administrator,
  startTestControlPlane,
  type TestControlPlane,
  user,
} from '../../src/controlplane/testing/test-control-plane.ts';

const mebibyte = 1024 * 1024;
const path = '/api/v1/namespaces/default/configmaps';
const configMap = (name: string, metadata: object, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', ...metadata },
  ...more,
});
const many = <T>(length: number, make: (i: number) => T): T[] => Array.from({ length }, (_, i) => make(i));
const owner = (i: number): object => ({ apiVersion: 'v1', kind: 'Pod', name: `a${i}`, uid: `u${i}` });
const manager = (i: number): object => ({
  manager: `m${i}`,
  operation: 'Update',
  apiVersion: 'v1',
  time: '2026-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:data': { [`f:k${i}`]: {} } },
});

interface Attack {
  readonly what: string;
  readonly body: object;
  readonly status: number;
  readonly says?: RegExp;
}
const tooManyValues =
  /Request entity too large: the limit is 50000 values in one object; use several objects/;
const tooManyKeys = /Request entity too large: the limit is 10000 keys in one map; use several objects/;
const attacks: readonly Attack[] = [
  {
    what: '2,000 owners that all say that they control it',
    body: configMap('controllers', {
      ownerReferences: many(2_000, (i) => ({ ...owner(i), controller: true })),
    }),
    status: 422,
    says: /Only one reference can have Controller set to true. Found "true" in references for Pod\/a0 and Pod\/a1/,
  },
  {
    what: '8,000 owners',
    body: configMap('owned', { ownerReferences: many(8_000, owner) }),
    status: 422,
    says: /metadata.ownerReferences: Too many: 8000: must have at most 2000 items/,
  },
  {
    what: '40,000 owners',
    body: configMap('owned', { ownerReferences: many(40_000, owner) }),
    status: 413,
    says: tooManyValues,
  },
  {
    what: '10,000 labels that are none',
    body: configMap('labels', { labels: Object.fromEntries(many(10_000, (i) => [`k/k/${i}`, '-'])) }),
    status: 422,
    says: /a valid label key must consist of/,
  },
  {
    what: '20,000 labels',
    body: configMap('labels', { labels: Object.fromEntries(many(20_000, (i) => [`k${i}`, 'v'])) }),
    status: 413,
    says: tooManyKeys,
  },
  {
    what: 'labels of 256 KiB',
    body: configMap('labels', {
      labels: Object.fromEntries(many(5_000, (i) => [`k${i}`, 'v'.repeat(60)])),
    }),
    status: 422,
    says: /metadata.labels: Too long: may not be more than 262144 bytes/,
  },
  {
    what: 'annotations of 256 KiB',
    body: configMap('annotations', {
      annotations: Object.fromEntries(many(9_000, (i) => [`k${i}`, 'v'.repeat(30)])),
    }),
    status: 422,
    says: /metadata.annotations: Too long: may not be more than 262144 bytes/,
  },
  {
    what: '2,000 finalizers without a domain',
    body: configMap('finalizers', { finalizers: many(2_000, (i) => `f-${i}`) }),
    status: 422,
    says: /name is neither a standard finalizer name nor is it fully qualified/,
  },
  {
    what: '45,000 finalizers',
    body: configMap('finalizers', { finalizers: many(45_000, (i) => `a.b/f-${i}`) }),
    status: 422,
    says: /metadata.finalizers: Too many: 45000: must have at most 2000 items/,
  },
  {
    what: 'a label of 2.8 MB',
    body: configMap('label', { labels: { [`${'a.'.repeat(1_400_000)}/x`]: 'b' } }),
    status: 422,
    says: /prefix part must be no more than 253 bytes/,
  },
  {
    what: '5,000 managers of fields',
    body: configMap('managers', { managedFields: many(5_000, manager) }, { data: { a: 'b' } }),
    status: 201,
  },
  {
    what: 'a field that the kind does not have, of 200,000 numbers',
    body: configMap('numbers', {}, { none: many(200_000, () => 1) }),
    status: 413,
    says: tooManyValues,
  },
];

describe('one request of a tenant does not stall the server', () => {
  let server: TestControlPlane;
  before(async () => {
    server = await startTestControlPlane();
  });
  after(() => server.close());

  for (const { what, body, status, says } of attacks)
    it(`${what}: ${status}, and the answer is short`, async () => {
      const answer = await server.ask('POST', path, body);
      assert.equal(answer.status, status);
      if (says !== undefined) assert.match(answer.message, says);
      assert.ok(answer.text.length < mebibyte, `${answer.text.length} bytes`);
    });

  it('another user is served between the steps of a create, a patch and an apply of 9,000 keys', async () => {
    const keys = { data: Object.fromEntries(many(9_000, (i) => [`key-${i}`, `value ${i}`])) };
    const big = configMap('keys', {}, keys);
    const small = await server.ask('POST', path, configMap('small', {}));
    assert.equal(small.status, 201);
    const patch = { data: { a: 'b' } };
    const apply = (what: object) =>
      server.ask('PATCH', `${path}/applied?fieldManager=m&force=true`, what, {
        contentType: 'application/apply-patch+yaml',
      });
    for (const [work, atLeast] of [
      [() => server.ask('POST', path, big), 7],
      [() => server.ask('PATCH', `${path}/keys`, patch, { contentType: 'application/merge-patch+json' }), 7],
      [() => apply(configMap('applied', {}, keys)), 10],
      [() => apply(configMap('applied', {}, patch)), 10],
    ] as const) {
      let done = false;
      const working = work().then((answer) => {
        done = true;
        return answer;
      });
      let served = 0;
      while (!done) {
        await new Promise((resolve) => setImmediate(resolve));
        const other = await server.ask('GET', `${path}/small`, undefined, {
          user: user('other', ...administrator.groups),
        });
        assert.equal(other.status, 200);
        if (!done) served++;
      }
      assert.ok((await working).status < 300);
      assert.ok(served >= atLeast, `${served} requests were served meanwhile`);
    }
  });

  it('a JSON patch of 10,000 operations is carried out in steps, and is refused when its result is too much', async () => {
    const body = configMap('patched', {}, { data: { a: 'b' } });
    assert.equal((await server.ask('POST', path, body)).status, 201);
    const patch = (operations: object[]) =>
      server.ask('PATCH', `${path}/patched`, operations, { contentType: 'application/json-patch+json' });
    let done = false;
    const add = many(9_000, (i) => ({ op: 'add', path: `/data/k${i}`, value: 'v' }));
    const working = patch(add).then((answer) => {
      done = true;
      return answer;
    });
    let served = 0;
    while (!done) {
      await new Promise((resolve) => setImmediate(resolve));
      const other = await server.ask('GET', `${path}/patched`);
      assert.equal(other.status, 200);
      if (!done) served++;
    }
    assert.equal((await working).status, 200);
    assert.ok(served >= 35, `${served} requests were served meanwhile`);
    const more = await patch(many(2_000, (i) => ({ op: 'add', path: `/data/l${i}`, value: 'v' })));
    assert.equal(more.status, 413);
    assert.match(more.message, tooManyKeys);
    // Few bytes that copy many values.
    const seed = configMap('seed', {}, { data: Object.fromEntries(many(4_000, (i) => [`k${i}`, 'v'])) });
    assert.equal((await server.ask('POST', path, seed)).status, 201);
    const copies = many(40, (i) => ({ op: 'copy', from: '/data', path: `/c${i}` }));
    const copied = await server.ask('PATCH', `${path}/seed`, copies, {
      contentType: 'application/json-patch+json',
    });
    assert.equal(copied.status, 413);
    assert.match(copied.message, tooManyValues);
  });

  it('two large bodies are worked on at a time, small ones do not wait for them', async () => {
    const keys = { data: Object.fromEntries(many(9_000, (i) => [`key-${i}`, `value ${i}`])) };
    const ended: number[] = [];
    const working = many(6, (i) =>
      server.ask('POST', path, configMap(`one-of-six-${i}`, {}, keys)).then(({ status }) => {
        assert.equal(status, 201);
        ended.push(i);
      }),
    );
    while (ended.length === 0) {
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal((await server.ask('GET', `${path}/small`)).status, 200);
    }
    assert.ok(ended.length <= 2, `${ended.length} ended together`);
    await Promise.all(working);
    assert.deepEqual(ended, [0, 1, 2, 3, 4, 5]);
  });

  it('what was stored is taken again, with the ownership of its fields', async () => {
    const containers = [{ name: 'c', image: 'i', env: many(9_900, (i) => ({ name: `e${i}`, value: 'v' })) }];
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'env' }, spec: { containers } };
    const pods = '/api/v1/namespaces/default/pods';
    const account = { metadata: { name: 'default' } };
    await server.ask('POST', '/api/v1/namespaces/default/serviceaccounts', account);
    const how = { contentType: 'application/apply-patch+yaml' };
    const applied = await server.ask('PATCH', `${pods}/env?fieldManager=m`, pod, how);
    assert.equal(applied.status, 201, applied.message);
    const values = applied.text.split(/[,{[]/).length;
    assert.ok(values > 50_000, `${values}: with its ownership it has more than an object may have`);
    const put = await server.ask('PUT', `${pods}/env`, applied.body);
    assert.equal(put.status, 200, put.message);
    const labels = { metadata: { labels: { a: 'b' } } };
    const patched = await server.ask('PATCH', `${pods}/env`, labels, {
      contentType: 'application/merge-patch+json',
    });
    assert.equal(patched.status, 200, patched.message);
  });

  it('protobuf that is small and says much is refused', async () => {
    /** ObjectMeta of a ConfigMap with labels of no name and no value: two bytes each. */
    const labels = Buffer.alloc(2 * 500_000, Buffer.of(0x5a, 0));
    const field = (tag: number, bytes: Buffer): Buffer => {
      const length: number[] = [];
      for (let rest = bytes.length; ; rest = Math.floor(rest / 128)) {
        length.push((rest % 128) | (rest >= 128 ? 128 : 0));
        if (rest < 128) break;
      }
      return Buffer.concat([Buffer.of(tag), Buffer.from(length), bytes]);
    };
    const message = field(0x0a, labels);
    const envelope = Buffer.concat([Buffer.from('k8s\0'), field(0x12, message)]);
    const answer = await server.ask('POST', path, envelope, {
      contentType: 'application/vnd.kubernetes.protobuf',
    });
    assert.equal(answer.status, 413);
    assert.match(answer.message, /the limit is 100000 values/);
  });

  it('large objects of real use pass: a definition of 1 MB, a Secret and a ConfigMap of 1 MiB', async () => {
    const text = 'What this field is for, in the words of those who wrote it.';
    const leaves = Object.fromEntries(many(8, (i) => [`leaf${i}`, { type: 'string', description: text }]));
    const properties = Object.fromEntries(
      many(900, (i) => [`field${i}`, { type: 'object', description: text, properties: leaves }]),
    );
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'larges.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'larges', singular: 'large', kind: 'Large', listKind: 'LargeList' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } },
            },
          },
        ],
      },
    };
    const apply = await server.ask(
      'PATCH',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/larges.example.com?fieldManager=m',
      definition,
      { contentType: 'application/apply-patch+yaml' },
    );
    assert.equal(apply.status, 201, apply.message);
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'large' },
      data: { a: Buffer.alloc(mebibyte - 1024, 'x').toString('base64') },
    };
    assert.equal((await server.ask('POST', '/api/v1/namespaces/default/secrets', secret)).status, 201);
    const map = configMap('large', {}, { data: { a: 'x\ny"'.repeat(mebibyte / 4 - 256) } });
    assert.equal((await server.ask('POST', path, map)).status, 201);
  });

  it('an object of lists in lists is answered about as large as it is, and gets no deeper by patches', async () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    const url = '/apis/apps/v1/namespaces/default/controllerrevisions';
    const name = 'nested';
    const data = `{"deep":${nested(300)},"many":[${many(80, () => nested(470)).join(',')}]}`;
    const body = Buffer.from(`{"metadata":{"name":"${name}"},"revision":1,"data":${data}}`);
    assert.equal((await server.ask('POST', url, body)).status, 201);
    const lists = [`${url}/${name}?pretty=true`, `${url}?pretty=true`];
    const accepts = ['application/yaml', 'application/json;pretty=1'];
    for (const asked of lists)
      for (const accept of accepts) {
        const { status, text } = await server.ask('GET', asked, undefined, { accept });
        assert.deepEqual([status, text.length < mebibyte], [200, true], `${asked} ${accept} ${text.length}`);
      }
    const where = `/data/deep${'/0'.repeat(299)}`;
    const deeper = [{ op: 'add', path: `${where}/-`, value: JSON.parse(nested(300)) as object }];
    const answer = await server.ask('PATCH', `${url}/${name}`, deeper, {
      contentType: 'application/json-patch+json',
    });
    assert.deepEqual([answer.status, answer.message], [400, 'json: exceeded max depth']);
  });
});
