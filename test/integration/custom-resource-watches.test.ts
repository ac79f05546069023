// Watches of custom resources end when their definition says something else, and not before.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { JsonObject } from '../../src/apimachinery/declaration.ts';
import type { ResourceRef } from '../../src/apimachinery/resource-ref.ts';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';

const plane = await startTestControlPlane();
after(() => plane.close());
const { ask } = plane;

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const group = 'watched.example.com';
const path = (plural: string, version: string): string =>
  `/apis/${group}/${version}/namespaces/default/${plural}`;
const version = (name: string, storage: boolean, more: JsonObject = {}): JsonObject => ({
  name,
  served: true,
  storage,
  schema: { openAPIV3Schema: { type: 'object', properties: { size: { type: 'integer' } } } },
  ...more,
});
const urlOf = (plural: string): string => `${crds}/${plural}.${group}`;
const often = { everyMs: 5 };

async function isServed(plural: string, name: string, status = 200): Promise<void> {
  await eventually(async () => assert.equal((await ask('GET', path(plural, name))).status, status), often);
}

async function define(plural: string, ...versions: JsonObject[]): Promise<void> {
  const made = await ask('POST', crds, {
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: 'Namespaced', names: { plural, kind: plural.toUpperCase() }, versions },
  });
  assert.equal(made.status, 201, made.text);
  await isServed(plural, String(versions[0]!['name']));
}

async function change(plural: string, spec: JsonObject): Promise<void> {
  const { status, text } = await ask('PATCH', urlOf(plural), { spec });
  assert.equal(status, 200, text);
}

async function create(plural: string, name: string, as: string): Promise<void> {
  const { status, text } = await ask('POST', path(plural, as), { metadata: { name } });
  assert.equal(status, 201, text);
}

/** What a watch showed, and whether it has ended: of itself it would be long after the test. */
interface Followed {
  readonly seen: unknown[];
  isOver: boolean;
}

interface Watched {
  readonly apiVersion: string;
  readonly metadata: { readonly name: string };
}

const client = plane.controlPlane.clientFor({ name: 'admin', groups: ['system:masters'] });

function follow(plural: string, as: string, resourceVersion = '0'): Followed {
  const followed: Followed = { seen: [], isOver: false };
  const ref = { group, version: as, resource: plural, namespaced: true } as ResourceRef<Watched>;
  void (async () => {
    for await (const { type, object } of client.watch(ref, { resourceVersion, timeoutSeconds: 600 }))
      followed.seen.push([type, (object as Watched).apiVersion, (object as Watched).metadata.name]);
    followed.isOver = true;
  })();
  return followed;
}

const endsWith = (watch: Followed, ...seen: unknown[]): Promise<void> =>
  eventually(() => assert.deepEqual(watch, { seen, isOver: true }), often);

const began = async (plural: string, name: string): Promise<string> => {
  const { body } = await ask('GET', path(plural, name));
  return String((body['metadata'] as JsonObject)['resourceVersion']);
};

test('a watch ends when another version is stored, and shows nothing of what was written since', async () => {
  await define('moved', version('v1alpha1', true));
  await create('moved', 'a', 'v1alpha1');
  const old = follow('moved', 'v1alpha1');
  await change('moved', { versions: [version('v1alpha1', false), version('v1beta1', true)] });
  await isServed('moved', 'v1beta1');
  const from = await began('moved', 'v1alpha1');
  const both = ['v1alpha1', 'v1beta1'].map((name) => follow('moved', name, from));
  await create('moved', 'b', 'v1beta1');
  await endsWith(old, ['ADDED', `${group}/v1alpha1`, 'a']);
  // Who goes on with what is served now has each version as it is.
  await change('moved', {
    versions: [version('v1alpha1', false), version('v1beta1', true, { served: false })],
  });
  for (const [i, name] of ['v1alpha1', 'v1beta1'].entries())
    await endsWith(both[i]!, ['ADDED', `${group}/${name}`, 'b']);
});

test('a watch goes on when only labels and the status of its definition change', async () => {
  await define('kept', version('v1', true));
  const watch = follow('kept', 'v1', await began('kept', 'v1'));
  const labelled = await ask('PATCH', urlOf('kept'), { metadata: { labels: { a: 'b' } } });
  assert.equal(labelled.status, 200, labelled.text);
  await create('kept', 'a', 'v1');
  await eventually(() => assert.equal(watch.seen.length, 1), often);
  assert.equal(watch.isOver, false);
  await change('kept', { names: { plural: 'kept', kind: 'KEPT', shortNames: ['kk'] } });
  await endsWith(watch, ['ADDED', `${group}/v1`, 'a']);
});

test('a watch shows how the objects of a deleted definition go, and ends with it', async () => {
  await define('gone', version('v1', true));
  const from = await began('gone', 'v1');
  await create('gone', 'a', 'v1');
  const watches = Array.from({ length: 20 }, () => follow('gone', 'v1', from));
  await ask('DELETE', urlOf('gone'));
  for (const watch of watches)
    await endsWith(watch, ['ADDED', `${group}/v1`, 'a'], ['DELETED', `${group}/v1`, 'a']);
  await isServed('gone', 'v1', 404);
});
