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
const attacks: readonly Attack[] = [
  {
    what: '20,000 owners that all say that they control it',
    body: configMap('controllers', {
      ownerReferences: many(20_000, (i) => ({ ...owner(i), controller: true })),
    }),
    status: 422,
    says: /Only one reference can have Controller set to true. Found "true" in references for Pod\/a0 and Pod\/a1/,
  },
  {
    what: '120,000 labels that are none',
    body: configMap('labels', { labels: Object.fromEntries(many(120_000, (i) => [`k/k/${i}`, '-'])) }),
    status: 422,
    says: /a qualified name must consist of/,
  },
  {
    what: '120,000 annotations',
    body: configMap('annotations', { annotations: Object.fromEntries(many(120_000, (i) => [`k${i}`, 'v'])) }),
    status: 422,
    says: /metadata.annotations: Too long: may not be more than 262144 bytes/,
  },
  {
    what: '120,000 finalizers without a domain',
    body: configMap('finalizers', { finalizers: many(120_000, (i) => `f-${i}`) }),
    status: 422,
    says: /name is neither a standard finalizer name nor is it fully qualified/,
  },
  {
    what: 'a label of 2.8 MB',
    body: configMap('label', { labels: { [`${'a.'.repeat(1_400_000)}/x`]: 'b' } }),
    status: 422,
    says: /prefix part must be no more than 253 bytes/,
  },
  {
    what: '10,000 managers of fields',
    body: configMap('managers', { managedFields: many(10_000, manager) }, { data: { a: 'b' } }),
    status: 201,
  },
];

describe('S10: one request of a tenant does not stall the server', () => {
  let server: TestControlPlane;
  before(async () => {
    server = await startTestControlPlane();
  });
  after(() => server.close());

  for (const { what, body, status, says } of attacks)
    it(`S10: ${what}: ${status}, and the answer is short`, async () => {
      const answer = await server.ask('POST', path, body);
      assert.equal(answer.status, status);
      if (says !== undefined) assert.match(answer.message, says);
      assert.ok(answer.text.length < mebibyte, `${answer.text.length} bytes`);
    });

  it('S10: another user is served between the steps of a create, a patch and an apply of 40,000 owners', async () => {
    const big = configMap('owners', { ownerReferences: many(40_000, owner) });
    const small = await server.ask('POST', path, configMap('small', {}));
    assert.equal(small.status, 201);
    const patch = { data: { a: 'b' } };
    const apply = (what: object) =>
      server.ask('PATCH', `${path}/applied?fieldManager=m&force=true`, what, {
        contentType: 'application/apply-patch+yaml',
      });
    for (const [work, atLeast] of [
      [() => server.ask('POST', path, big), 7],
      [
        () => server.ask('PATCH', `${path}/owners`, patch, { contentType: 'application/merge-patch+json' }),
        7,
      ],
      [() => apply(configMap('applied', { ownerReferences: many(40_000, owner) })), 10],
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
});
