// Requests that say too much, too little or something else, of built-in kinds and of custom resources: status and words of a kube-apiserver.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  type Answer,
  type AskOptions,
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { crds, define, definition, path } from './custom-definitions.ts';

let cluster: TestControlPlane;
const scaled = {
  subresources: {
    status: {},
    scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
  },
};
before(async () => {
  cluster = await startTestControlPlane();
  await define(cluster, 'gears', 'Gear', scaled);
});
after(() => cluster.close());

const maps = '/api/v1/namespaces/default/configmaps';
const gears = path('gears');
const gear = (name: string, more: object = {}): object => ({
  apiVersion: 'test.example.com/v1',
  kind: 'Gear',
  metadata: { name, ...more },
});

interface Case {
  readonly ask: readonly [method: string, url: string, body?: unknown, options?: AskOptions];
  readonly status: number;
  readonly says?: string | RegExp;
}
async function check({ ask, status, says }: Case): Promise<Answer> {
  const answer = await cluster.ask(...ask);
  const what = `${ask[0]} ${ask[1]}: ${answer.text}`;
  assert.equal(answer.status, status, what);
  if (typeof says === 'string') assert.equal(answer.message, says, what);
  else if (says !== undefined) assert.match(answer.text, says, what);
  return answer;
}
async function checkAll(cases: readonly Case[]): Promise<void> {
  for (const one of cases) await check(one);
}

test('a timeout of the query is a duration as Go reads it, of whatever is asked for', async () => {
  const refused = 'invalid timeout specified in the request URL - time: ';
  await checkAll([
    { ask: ['GET', `${maps}?timeout=soon`], status: 400, says: `${refused}invalid duration "soon"` },
    { ask: ['GET', `${maps}?timeout=30`], status: 400, says: `${refused}missing unit in duration "30"` },
    { ask: ['GET', '/version?timeout=2d'], status: 400, says: `${refused}unknown unit "d" in duration "2d"` },
    { ask: ['GET', `${maps}?timeout=9999999h`], status: 400, says: `${refused}invalid duration "9999999h"` },
    { ask: ['GET', `${maps}?timeout=-1.5h3us`], status: 200 },
    { ask: ['GET', `${maps}?timeout=0&timeoutSeconds=1`], status: 200 },
    { ask: ['GET', `${maps}?timeout=`], status: 200 },
  ]);
});

test('whatever is there is listed without pages, all else in those that were asked for', async () => {
  for (const name of ['p1', 'p2', 'p3'])
    await cluster.ask('POST', maps, { metadata: { name, labels: { paged: 'yes' } } });
  const listed = async (query: string): Promise<readonly [number, boolean]> => {
    const { body } = await cluster.ask('GET', `${maps}?labelSelector=paged&limit=2${query}`);
    const { items, metadata } = body as { items: unknown[]; metadata: { continue?: string } };
    return [items.length, metadata.continue !== undefined];
  };
  assert.deepEqual(await listed('&resourceVersion=0'), [3, false]);
  assert.deepEqual(await listed('&resourceVersion=0&resourceVersionMatch=NotOlderThan'), [3, false]);
  assert.deepEqual(await listed(''), [2, true]);
  assert.deepEqual(await listed('&resourceVersion=1&resourceVersionMatch=NotOlderThan'), [2, true]);
});

test('selectors and numbers of a list are refused in the words of their readers', async () => {
  await checkAll([
    {
      ask: ['GET', `${maps}?labelSelector=)`],
      status: 400,
      says: "found ')', expected: !, identifier, or 'end of string'",
    },
    {
      ask: ['GET', `${maps}?labelSelector=a+nowhere`],
      status: 400,
      says: /"message":"unable to parse requirement: found 'nowhere', expected/,
    },
    { ask: ['GET', `${maps}?labelSelector=x/y/z`], status: 400, says: /a valid label key must consist of/ },
    {
      ask: ['GET', `${maps}?limit=-9223372036854775809`],
      status: 400,
      says: 'strconv.ParseInt: parsing "-9223372036854775809": value out of range',
    },
    { ask: ['GET', `${maps}?limit=${'1'.repeat(40)}`], status: 400, says: /value out of range/ },
    { ask: ['GET', `${maps}?limit=${'0'.repeat(40)}1`], status: 200 },
    {
      ask: ['GET', `${maps}?resourceVersion=1&resourceVersionMatch=Near`],
      status: 422,
      says: /supported values: \\"Exact\\", \\"NotOlderThan\\", \\"\\"/,
    },
  ]);
});

test('an object is not exported any longer', async () => {
  const says = 'the export parameter, deprecated since v1.14, is no longer supported';
  await cluster.ask('POST', maps, { metadata: { name: 'kept' } });
  await checkAll([
    { ask: ['GET', `${maps}/kept?export=true`], status: 400, says },
    { ask: ['GET', `${maps}/kept?export=`], status: 400, says },
    { ask: ['GET', `${maps}/kept?export=false`], status: 200 },
  ]);
});

test('a body is what its media type says, and null says nothing', async () => {
  await checkAll([
    { ask: ['POST', maps, { metadata: { name: 'x' } }, { contentType: ';' }], status: 415 },
    { ask: ['POST', maps, Buffer.from('null')], status: 422, says: /name or generateName is required/ },
    {
      ask: ['POST', maps, { kind: 'ConfigMap', apiVersion: 'a/b/c', metadata: { name: 'x' } }],
      status: 400,
      says: /must be of type ConfigMap\): unexpected GroupVersion string: a\/b\/c \(/,
    },
    {
      ask: ['POST', `${maps}?fieldManager=%01%7F`, { metadata: { name: 'x' } }],
      status: 422,
      says: /Invalid value: \\"\\\\x01\\\\x7f\\": invalid character U\+0001/,
    },
    {
      ask: [
        'POST',
        maps,
        { metadata: { name: 'x', ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p' }] } },
      ],
      status: 422,
      says: 'ConfigMap "x" is invalid: metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    },
  ]);
});

test('what a deletion wants is said by its body, if it has one, and by that alone', async () => {
  const made = (name: string): Promise<Answer> => cluster.ask('POST', maps, { metadata: { name } });
  for (const name of ['d1', 'd2', 'd3', 'd4', 'd5']) await made(name);
  const at = (name: string, query = ''): string => `${maps}/${name}${query}`;
  const options = (more: object): object => ({ kind: 'DeleteOptions', apiVersion: 'v1', ...more });
  await checkAll([
    { ask: ['DELETE', at('d1', '?dryRun=Some')], status: 422, says: /dryRun: Unsupported value/ },
    { ask: ['DELETE', at('d1', '?dryRun=Some'), options({ dryRun: ['All'] })], status: 200 },
    { ask: ['GET', at('d1')], status: 200 },
    { ask: ['DELETE', at('d1', '?dryRun=All'), options({})], status: 200 },
    { ask: ['GET', at('d1')], status: 404 },
    { ask: ['DELETE', `${maps}?fieldSelector=metadata.name%3Dd2&dryRun=All`, options({})], status: 200 },
    { ask: ['GET', at('d2')], status: 404 },
    {
      ask: ['DELETE', at('d3', '?propagationPolicy=Sideways')],
      status: 422,
      says: /supported values: \\"Foreground\\", \\"Background\\", \\"Orphan\\", \\"nil\\"/,
    },
    // Only who speaks of orphans is told that it is not done yet.
    { ask: ['DELETE', at('d3', '?propagationPolicy=Foreground')], status: 200, says: /foregroundDeletion/ },
    { ask: ['DELETE', at('d4', '?orphanDependents=false')], status: 200, says: /"Success"/ },
  ]);
  await cluster.ask('PATCH', at('d5'), { metadata: { finalizers: ['a.example/b'] } });
  await check({ ask: ['DELETE', at('d5', '?orphanDependents=false')], status: 202 });
  await check({
    ask: ['POST', maps, { metadata: { name: 'd5' } }],
    status: 409,
    says: 'object is being deleted: configmaps "d5" already exists',
  });
  await check({
    ask: ['POST', maps, { metadata: { name: 'kept' } }],
    status: 409,
    says: 'configmaps "kept" already exists',
  });
});

test('who gave a prefix beside a name that is taken is told of both', async () => {
  await cluster.ask('POST', maps, { metadata: { name: 'restored' } });
  const { details } = (
    await check({
      ask: ['POST', maps, { metadata: { name: 'restored', generateName: 're-' } }],
      status: 409,
      says: 'configmaps "restored" already exists, the server was not able to generate a unique name for the object',
    })
  ).body as { details?: { retryAfterSeconds?: number } };
  assert.equal(details?.retryAfterSeconds, 1);
});

test('an object that its kind lets nobody write blindly is written with its revision', async () => {
  const pdbs = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
  const pdb = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'b' },
    spec: { minAvailable: 1 },
  };
  const made = await check({ ask: ['POST', pdbs, pdb], status: 201 });
  const words = (resource: string, name: string): string =>
    `${resource} "${name}" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`;
  await checkAll([
    { ask: ['PUT', `${pdbs}/b`, pdb], status: 422, says: words('poddisruptionbudgets.policy', 'b') },
    { ask: ['PUT', `${pdbs}/b`, made.body], status: 200 },
    {
      ask: ['PUT', `${crds}/gears.test.example.com`, definition('gears', 'Gear')],
      status: 422,
      says: words('customresourcedefinitions.apiextensions.k8s.io', 'gears.test.example.com'),
    },
  ]);
});

test('a patch that would make another object of it is refused by what may not change', async () => {
  await cluster.ask('POST', maps, { metadata: { name: 'same' } });
  const apply: AskOptions = { contentType: 'application/apply-patch+yaml' };
  const applied = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { uid: 'other' } };
  await checkAll([
    {
      ask: ['PATCH', `${maps}/same`, { metadata: { uid: 'other' } }],
      status: 422,
      says: 'ConfigMap "same" is invalid: metadata.uid: Invalid value: "other": field is immutable',
    },
    {
      ask: ['PUT', `${maps}/same`, { metadata: { name: 'same', uid: 'other' } }],
      status: 409,
      says: /Precondition failed/,
    },
    {
      ask: ['PATCH', `${maps}/none?fieldManager=m`, applied, apply],
      status: 409,
      says: 'Operation cannot be fulfilled on configmaps "none": uid mismatch: the provided object specified uid other, and no existing object was found',
    },
    {
      ask: [
        'PATCH',
        `${maps}/fresh?fieldManager=m`,
        { ...applied, metadata: { resourceVersion: '7' } },
        apply,
      ],
      status: 201,
    },
  ]);
});

test('patches are read as Go reads them', async () => {
  await cluster.ask('POST', maps, { metadata: { name: 'read' }, data: { k: 'v' } });
  const json: AskOptions = { contentType: 'application/json-patch+json' };
  const strategic: AskOptions = { contentType: 'application/strategic-merge-patch+json' };
  const apply: AskOptions = { contentType: 'application/apply-patch+yaml' };
  const at = `${maps}/read`;
  await checkAll([
    { ask: ['PATCH', at, Buffer.from('null'), json], status: 200 },
    { ask: ['PATCH', at, Buffer.from('null'), strategic], status: 200 },
    {
      ask: ['PATCH', at, [null], json],
      status: 422,
      says: 'the server rejected our request due to an error in our request',
    },
    {
      ask: ['PATCH', at, [true], json],
      status: 400,
      says: 'error decoding patch: json: cannot unmarshal bool into Go value of type handlers.jsonPatchOp',
    },
    {
      ask: ['PATCH', at, [{ op: 'remove', path: 1 }], json],
      status: 400,
      says: 'error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string',
    },
    // What the object is stays, whatever the patch calls it.
    {
      ask: ['PATCH', at, { kind: 'Secret', apiVersion: 'v9', data: { k: 'w' } }, strategic],
      status: 200,
      says: /"kind":"ConfigMap","apiVersion":"v1"/,
    },
    {
      ask: ['PATCH', `${at}?fieldManager=m`, Buffer.from(''), apply],
      status: 400,
      says: 'invalid object type: /, Kind=',
    },
    {
      ask: ['PATCH', `${at}?fieldManager=m`, Buffer.from('- a'), apply],
      status: 400,
      says: 'error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}',
    },
    {
      ask: ['PATCH', `${at}?fieldManager=m`, { apiVersion: 'v1', kind: 'ConfigMap', nope: 1 }, apply],
      status: 500,
      says: 'failed to create typed patch object (/; /v1, Kind=ConfigMap): .nope: field not declared in schema',
    },
  ]);
});

test('paths of custom resources are answered by the one handler of all of them', async () => {
  await check({ ask: ['POST', gears, gear('g')], status: 201 });
  await checkAll([
    {
      ask: ['POST', `${gears}/g/status`, gear('g')],
      status: 405,
      says: 'create is not supported on resources of kind "gears.test.example.com"',
    },
    {
      ask: ['DELETE', `${gears}/g/scale`],
      status: 405,
      says: 'delete is not supported on resources of kind "gears.test.example.com"',
    },
    { ask: ['GET', `${gears}/g/teeth`], status: 404, says: 'gears.test.example.com "g" not found' },
    { ask: ['PUT', gears, gear('g')], status: 400, says: 'name must be provided' },
    { ask: ['GET', '/apis/test.example.com/v1/gears/g'], status: 404, says: /^404 page not found$/m },
    {
      ask: ['GET', '/apis/test.example.com/v1/namespaces/default/wheels'],
      status: 404,
      says: /^404 page not found$/m,
    },
    // Of a group that the server has itself it knows more.
    {
      ask: ['GET', '/apis/apps/v1/namespaces/default/wheels'],
      status: 404,
      says: 'the server could not find the requested resource',
    },
    {
      ask: ['POST', gears, { apiVersion: 'test.example.com/v1', kind: 'Gear' }],
      status: 422,
      says: 'Gear.test.example.com "" is invalid: metadata.name: Required value: name or generateName is required',
    },
  ]);
  const finalized = async (...finalizers: string[]): Promise<readonly string[]> =>
    (await cluster.ask('POST', `${gears}?dryRun=All`, gear('f', { finalizers }))).warnings;
  assert.match((await finalized('plain'))[0]!, /domain-qualified finalizer name to avoid/);
  assert.match(
    (await finalized('with.dots'))[0]!,
    /domain-qualified finalizer name including a path \(\/\) to avoid/,
  );
});

test('a custom resource is scaled when it says how often it is there', async () => {
  const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 's' } };
  await cluster.ask('POST', gears, gear('s'));
  await checkAll([
    {
      ask: ['GET', `${gears}/s/scale`],
      status: 500,
      says: 'Internal error occurred: the spec replicas field ".spec.replicas" does not exist',
    },
    {
      ask: ['PUT', `${gears}/s/scale`, { ...scale, spec: { replicas: -1 } }],
      status: 422,
      says: 'Gear.test.example.com "s" is invalid: .spec.replicas: Invalid value: -1: should be a non-negative integer',
    },
    { ask: ['PUT', `${gears}/s/scale`, { ...scale, spec: { replicas: 2 } }], status: 200 },
    { ask: ['GET', `${gears}/s/scale`], status: 200, says: /"replicas":2/ },
  ]);
});

test('verbs in the path say what they are of', async () => {
  for (const at of ['/api/v1/watch', '/apis/apps/v1/proxy']) {
    const answer = await cluster.ask('GET', at);
    assert.equal(answer.status, 500);
    assert.equal(
      answer.text,
      `Internal Server Error: "${at}": failed to create RequestInfo: unable to determine kind and namespace from url, ${at}\n`,
    );
  }
  // Nobody is proxied by them any longer.
  await check({ ask: ['GET', '/api/v1/proxy/namespaces/default/pods/p'], status: 405 });
});
