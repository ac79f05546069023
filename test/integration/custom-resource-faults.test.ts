// What upstream refuses of custom resources, in which words, and what it lets pass: kinds, namespaces, scales, embedded metadata.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { JsonObject } from '../../src/apimachinery/declaration.ts';
import {
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';
import { crds } from './custom-definitions.ts';

let cluster: TestControlPlane;
const group = 'boats.example.com';
const boats = `/apis/${group}/v1/boats`;
const merge = { contentType: 'application/merge-patch+json' };

const crate = {
  type: 'object',
  'x-kubernetes-embedded-resource': true,
  properties: { metadata: { type: 'object', properties: { name: { type: 'string' } } } },
};
const schema = {
  type: 'object',
  'x-kubernetes-preserve-unknown-fields': true,
  properties: {
    spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    cargo: crate,
    mast: { type: 'object', nullable: true, required: ['wood'], properties: { wood: { type: 'string' } } },
    keel: { type: 'object', properties: { wood: { type: 'string' } } },
    hold: {
      type: 'object',
      properties: {
        crate: {
          ...crate,
          default: { apiVersion: 'v1', kind: 'Crate', metadata: { name: 'spare', colour: 'red' } },
        },
      },
    },
  },
};

before(async () => {
  cluster = await startTestControlPlane();
  const made = await cluster.ask('POST', crds, {
    metadata: { name: `boats.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural: 'boats', kind: 'Boat' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          subresources: {
            status: {},
            scale: {
              specReplicasPath: '.spec.oars',
              statusReplicasPath: '.status.oars',
              labelSelectorPath: '.status.crew',
            },
          },
        },
      ],
    },
  });
  assert.equal(made.status, 201, made.text);
  await eventually(async () => assert.equal((await cluster.ask('GET', boats)).status, 200), { everyMs: 5 });
});
after(() => cluster.close());

const metaOf = (body: Readonly<Record<string, unknown>>): JsonObject => body['metadata'] as JsonObject;

test('a namespace means nothing where there is none: who names one is heard, and it is not kept', async () => {
  const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
  for (const url of [boats, roles]) {
    const metadata = { name: 'afloat', namespace: 'harbour' };
    const made = await cluster.ask('POST', url, { metadata });
    assert.equal(made.status, 201, made.text);
    assert.equal(metaOf(made.body)['namespace'], undefined);
    const labels = { a: 'b' };
    const replaced = await cluster.ask('PUT', `${url}/afloat`, {
      metadata: { ...metaOf(made.body), namespace: 'harbour', labels },
    });
    assert.equal(replaced.status, 200, replaced.text);
    assert.equal(metaOf(replaced.body)['namespace'], undefined);
    assert.deepEqual(metaOf(replaced.body)['labels'], labels);
    const patched = await cluster.ask('PATCH', `${url}/afloat`, { metadata: { namespace: 'sea' } }, merge);
    assert.equal(patched.status, 200, patched.text);
    assert.equal(metaOf(patched.body)['namespace'], undefined);
  }
});

test('an object that calls itself another kind is an invalid one of that kind', async () => {
  const made = await cluster.ask('POST', boats, { kind: 'Raft', metadata: { name: 'kon' } });
  assert.equal(made.status, 422);
  assert.equal(made.message, `Raft.${group} "kon" is invalid: kind: Invalid value: "Raft": must be Boat`);
});

test('replicas and selectors that a scale could not show are refused, each where its writer can mend it', async () => {
  const oars = (value: unknown): object => ({ metadata: { name: 'rowed' }, spec: { oars: value } });
  const refusals: [unknown, string][] = [
    [-1, '.spec.oars: Invalid value: -1: should be a non-negative integer'],
    [2 ** 31, '.spec.oars: Invalid value: 2147483648: should be less than or equal to 2147483647'],
    [
      'two',
      '.spec.oars: Invalid value: 0: .spec.oars accessor error: two is of the type string, expected int64',
    ],
    [
      1.5,
      '.spec.oars: Invalid value: 0: .spec.oars accessor error: 1.5 is of the type float64, expected int64',
    ],
  ];
  for (const [value, why] of refusals) {
    const made = await cluster.ask('POST', boats, oars(value));
    assert.equal(made.message, `Boat.${group} "rowed" is invalid: ${why}`);
  }
  assert.equal((await cluster.ask('POST', boats, oars(2 ** 31 - 1))).status, 201);
  const more = await cluster.ask('PATCH', `${boats}/rowed`, { spec: { oars: 2 ** 31 } }, merge);
  assert.equal(more.status, 422, more.text);
  const status = (value: object) => cluster.ask('PATCH', `${boats}/rowed/status`, { status: value }, merge);
  assert.equal(
    (await status({ oars: -2, crew: 7 })).message,
    `Boat.${group} "rowed" is invalid: [.status.oars: Invalid value: -2: should be a non-negative integer, .status.crew: Invalid value: "": .status.crew accessor error: 7 is of the type int64, expected string]`,
  );
  assert.equal((await status({ oars: 2, crew: 'a=b' })).status, 200);
});

test('metadata within an object that can not be read is told with its place and as it was sent', async () => {
  const cargo = { apiVersion: 'v1', kind: 'Crate', metadata: { name: 'box', namespace: 42 } };
  const made = await cluster.ask('POST', boats, { metadata: { name: 'laden' }, cargo });
  assert.equal(made.status, 400);
  assert.equal(
    made.message,
    'Boat in version "v1" cannot be handled as a Boat: cargo.metadata: Invalid value: {"name":"box","namespace":42}: json: cannot unmarshal number into Go struct field ObjectMeta.namespace of type string',
  );
});

test('metadata that a default has made is pruned as any other', async () => {
  const made = await cluster.ask('POST', boats, { metadata: { name: 'spared' }, hold: {} });
  assert.equal(made.status, 201, made.text);
  const hold = { crate: { apiVersion: 'v1', kind: 'Crate', metadata: { name: 'spare' } } };
  assert.deepEqual(made.body['hold'], hold);
  assert.deepEqual((await cluster.ask('GET', `${boats}/spared`)).body['hold'], hold);
});

test('who scales by an update or a patch is entered as upstream enters who applies: before the others, without a time', async () => {
  const made = await cluster.ask('POST', `${boats}?fieldManager=wright`, {
    metadata: { name: 'manned' },
    spec: { oars: 2, sails: 1 },
  });
  assert.equal(made.status, 201, made.text);
  const owners = async (): Promise<unknown> =>
    (metaOf((await cluster.ask('GET', `${boats}/manned`)).body)['managedFields'] as JsonObject[]).map(
      ({ manager, subresource, fieldsV1, time }) => [manager, subresource, fieldsV1, time !== undefined],
    );
  const scaler = (name: string): unknown => [name, 'scale', { 'f:spec': { 'f:oars': {} } }, false];
  const wright = ['wright', undefined, { 'f:spec': { '.': {}, 'f:sails': {} } }, true];
  const patched = await cluster.ask(
    'PATCH',
    `${boats}/manned/scale?fieldManager=z`,
    { spec: { replicas: 4 } },
    merge,
  );
  assert.equal(patched.status, 200, patched.text);
  assert.deepEqual(await owners(), [scaler('z'), wright]);
  const scale = { ...patched.body, spec: { replicas: 6 } };
  const updated = await cluster.ask('PUT', `${boats}/manned/scale?fieldManager=y`, scale);
  assert.equal(updated.status, 200, updated.text);
  assert.deepEqual(await owners(), [scaler('y'), wright]);
});

test('what the old document of OpenAPI says beyond it is YAML as people write it: clients compare the text', async () => {
  const accept = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
  await eventually(async () => {
    const { text } = await cluster.ask('GET', '/openapi/v2', undefined, { accept });
    assert.ok(text.includes(`- group: ${group}\n  kind: Boat\n  version: v1\n`));
  });
});

test('who applies null in the place of an object clears it where null may be, and is refused where it may not', async () => {
  const apply = (name: string, said: object) =>
    cluster.ask(
      'PATCH',
      `${boats}/${name}?fieldManager=wright`,
      { apiVersion: `${group}/v1`, kind: 'Boat', metadata: { name }, ...said },
      { contentType: 'application/apply-patch+yaml' },
    );
  const wooden = { mast: { wood: 'pine' }, keel: { wood: 'oak' } };
  assert.equal((await apply('sloop', wooden)).status, 201);
  const cleared = await apply('sloop', { ...wooden, mast: null });
  assert.equal(cleared.status, 200, cleared.text);
  assert.equal(cleared.body['mast'], null);
  for (const name of ['sloop', 'brig']) {
    const refused = await apply(name, { keel: null });
    assert.equal(refused.status, 422, refused.text);
    assert.match(refused.message, /keel in body must be of type object: "null"$/);
  }
});
