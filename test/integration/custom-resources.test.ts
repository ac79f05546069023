// Custom resources on a whole control plane: definitions become kinds, whose objects are decoded, defaulted, validated and kept.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';
import { crds, define, definition, path } from './custom-definitions.ts';

let cluster: TestControlPlane;
before(async () => {
  cluster = await startTestControlPlane();
});
after(() => cluster.close());

const merge = { contentType: 'application/merge-patch+json' };
type Paths = Record<
  string,
  { readonly patch?: { readonly consumes?: string[]; readonly requestBody?: { readonly content: object } } }
>;

test('a definition is served when its names are accepted: decoded, defaulted, validated, in every version', async () => {
  await define(cluster, 'widgets', 'Widget');
  const crd = (await cluster.ask('GET', `${crds}/widgets.test.example.com`)).body;
  const status = crd['status'] as { conditions: { type: string; status: string }[]; acceptedNames: object };
  assert.deepEqual(
    status.conditions.map((c) => [c.type, c.status]),
    [
      ['NamesAccepted', 'True'],
      ['Established', 'True'],
    ],
  );
  const made = await cluster.ask('POST', path('widgets'), { metadata: { name: 'a' }, spec: { nope: 1 } });
  assert.equal(made.status, 201, made.text);
  assert.deepEqual(made.body['spec'], { size: 1 });
  const other = await cluster.ask('GET', `${path('widgets', 'v2')}/a`);
  assert.equal(other.body['apiVersion'], 'test.example.com/v2');
  const wrong = await cluster.ask('PATCH', `${path('widgets')}/a`, { spec: { size: 0 } }, merge);
  assert.equal(
    wrong.message,
    'Widget.test.example.com "a" is invalid: spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1',
  );
  const strict = await cluster.ask('POST', `${path('widgets')}?fieldValidation=Strict`, {
    metadata: { name: 'b' },
    spec: { nope: 1 },
  });
  assert.equal(
    strict.message,
    'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.nope"',
  );
  const strategic = await cluster.ask(
    'PATCH',
    `${path('widgets')}/a`,
    {},
    {
      contentType: 'application/strategic-merge-patch+json',
    },
  );
  assert.equal(strategic.status, 415);
  const groups = (await cluster.ask('GET', '/apis/test.example.com')).body;
  assert.deepEqual(groups['preferredVersion'], { groupVersion: 'test.example.com/v2', version: 'v2' });
  const openapi = await cluster.ask('GET', '/openapi/v3/apis/test.example.com/v1');
  assert.ok(openapi.text.includes('com.example.test.v1.Widget'));
});

test('status and scale are written apart; generation counts what is wanted', async () => {
  await define(cluster, 'gears', 'Gear', {
    subresources: {
      status: {},
      scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.n' },
    },
  });
  await cluster.ask('POST', path('gears'), {
    metadata: { name: 'g' },
    spec: { replicas: 2 },
    status: { n: 9 },
  });
  const fresh = (await cluster.ask('GET', `${path('gears')}/g`)).body;
  assert.equal(fresh['status'], undefined);
  const status = await cluster.ask(
    'PATCH',
    `${path('gears')}/g/status`,
    { status: { n: 2 }, spec: { size: 5 } },
    merge,
  );
  assert.deepEqual(status.body['status'], { n: 2 });
  assert.deepEqual(status.body['spec'], { replicas: 2, size: 1 });
  const scale = await cluster.ask('PATCH', `${path('gears')}/g/scale`, { spec: { replicas: 4 } }, merge);
  assert.deepEqual([scale.body['spec'], scale.body['status']], [{ replicas: 4 }, { replicas: 2 }]);
  const metadata = (await cluster.ask('GET', `${path('gears')}/g`)).body['metadata'] as {
    generation: number;
  };
  assert.equal(metadata.generation, 2);
});

test('no path of a custom resource says that it takes strategic patches, and none does: kubectl apply would send them', async () => {
  await define(cluster, 'cogs', 'Cog', {
    subresources: {
      status: {},
      scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.n' },
    },
  });
  await cluster.ask('POST', path('cogs'), { metadata: { name: 'g' }, spec: { replicas: 2 } });
  const taken = [
    'application/json-patch+json',
    'application/merge-patch+json',
    'application/apply-patch+yaml',
  ];
  const v3 = (await cluster.ask('GET', '/openapi/v3/apis/test.example.com/v1')).body['paths'] as Paths;
  const v2 = (await cluster.ask('GET', '/openapi/v2')).body['paths'] as Paths;
  const item = '/apis/test.example.com/v1/namespaces/{namespace}/cogs/{name}';
  const strategic = { contentType: 'application/strategic-merge-patch+json' };
  for (const subresource of ['', '/status', '/scale']) {
    const { patch } = v3[`${item}${subresource}`]!;
    assert.deepEqual(Object.keys(patch?.requestBody?.content ?? {}), taken, subresource);
    assert.deepEqual(v2[`${item}${subresource}`]?.patch?.consumes, taken, subresource);
    const answer = await cluster.ask('PATCH', `${path('cogs')}/g${subresource}`, {}, strategic);
    assert.equal(answer.status, 415, subresource);
  }
});

test('a field that no version selects by is refused in the words for custom resources', async () => {
  await define(cluster, 'plain', 'Plain');
  const answer = await cluster.ask('GET', `${path('plain')}?fieldSelector=spec.color%3Dred`);
  assert.equal(answer.status, 400);
  assert.match(answer.message ?? '', /field label not supported: spec\.color$/);
});

test('finalizers of operators need no path: Argo CD names its own without one, and gets a warning as upstream', async () => {
  await define(cluster, 'apps', 'App');
  const argo = 'resources-finalizer.argocd.example.io';
  const made = await cluster.ask('POST', path('apps'), {
    metadata: { name: 'a', finalizers: [argo, 'example.com/x', 'foregroundDeletion'] },
  });
  assert.equal(made.status, 201, made.text);
  const warning = `299 - "metadata.finalizers: \\"${argo}\\": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers"`;
  assert.deepEqual(made.warnings, [warning]);
  const patch = { metadata: { labels: { a: 'b' } } };
  const again = await cluster.ask('PATCH', `${path('apps')}/a`, patch, merge);
  assert.deepEqual([again.status, again.warnings], [200, []], 'it was there before');
  const none = { metadata: { finalizers: [] } };
  assert.equal((await cluster.ask('PATCH', `${path('apps')}/a`, none, merge)).status, 200);
  const builtIn = { metadata: { name: 'a', finalizers: ['a.b/c', argo] } };
  const refused = await cluster.ask('POST', '/api/v1/namespaces/default/configmaps', builtIn);
  assert.equal(refused.status, 422);
  assert.match(
    refused.text,
    /metadata\.finalizers\[1\]: Invalid value: .*name is neither a standard finalizer name nor is it fully qualified/,
  );
});

test('a kind that comes leaves the documents of the others as they are; both versions of OpenAPI have it', async () => {
  const hashes = async (): Promise<Record<string, string>> => {
    const { paths } = (await cluster.ask('GET', '/openapi/v3')).body as {
      paths: Record<string, { serverRelativeURL: string }>;
    };
    return Object.fromEntries(
      Object.entries(paths).map(([name, { serverRelativeURL }]) => [name, serverRelativeURL]),
    );
  };
  const before = await hashes();
  const name = 'com.example.test.v1.Newcomer';
  assert.ok(!(await cluster.ask('GET', '/openapi/v2')).text.includes(name));
  await define(cluster, 'newcomers', 'Newcomer');
  const after = await hashes();
  const changed = Object.keys(after).filter((path) => after[path] !== before[path]);
  assert.deepEqual(changed.sort(), ['apis/test.example.com/v1', 'apis/test.example.com/v2']);
  const document = await cluster.ask('GET', after['apis/test.example.com/v1']!);
  assert.match(document.text, /com\.example\.test\.v1\.Newcomer/);
  const { definitions, paths } = (await cluster.ask('GET', '/openapi/v2')).body as Record<string, object>;
  for (const type of [name, `${name}List`, 'io.k8s.api.core.v1.Pod'])
    assert.ok(Object.hasOwn(definitions!, type), type);
  assert.ok(Object.hasOwn(paths!, '/apis/test.example.com/v1/namespaces/{namespace}/newcomers'));
});

test('whoever asks for a deprecated version is told which to use', async () => {
  await define(cluster, 'elders', 'Elder', { deprecated: true });
  const warned = async (version: string): Promise<readonly string[]> =>
    (await cluster.ask('GET', path('elders', version))).warnings;
  assert.equal((await warned('v1')).length, 1);
  assert.match(
    (await warned('v1'))[0]!,
    /test\.example\.com\/v1 Elder is deprecated; use test\.example\.com\/v2 Elder/,
  );
  assert.deepEqual(await warned('v2'), []);
});

test('selectors ask each version for its own fields, also for those that its definition names later', async () => {
  const fields = (...jsonPaths: string[]) => ({
    selectableFields: jsonPaths.map((jsonPath) => ({ jsonPath })),
  });
  await define(cluster, 'picks', 'Pick', fields('.spec.size'));
  const url = `${crds}/picks.test.example.com`;
  for (const [name, size] of [
    ['a', 1],
    ['b', 2],
  ] as const) {
    const made = await cluster.ask('POST', path('picks'), {
      metadata: { name },
      spec: { size, replicas: size },
    });
    assert.equal(made.status, 201, made.text);
  }
  const chosen = async (version: string, field: string): Promise<unknown> => {
    const { body, message } = await cluster.ask(
      'GET',
      `${path('picks', version)}?fieldSelector=${field}%3D2`,
    );
    return (
      (body['items'] as { metadata: { name: string } }[] | undefined)?.map((o) => o.metadata.name) ?? message
    );
  };
  assert.deepEqual(await chosen('v1', 'spec.size'), ['b']);
  assert.equal(await chosen('v1', 'spec.replicas'), 'field label not supported: spec.replicas');
  const crd = (await cluster.ask('GET', url)).body as { spec: { versions: object[] } };
  Object.assign(crd.spec.versions[0]!, fields('.spec.size', '.spec.replicas'));
  Object.assign(crd.spec.versions[1]!, {
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: {
          spec: { type: 'object', properties: { size: { type: 'integer' }, replicas: { type: 'integer' } } },
        },
      },
    },
    ...fields('.spec.replicas'),
  });
  const put = await cluster.ask('PUT', url, crd);
  assert.equal(put.status, 200, put.text);
  await eventually(async () => assert.deepEqual(await chosen('v1', 'spec.replicas'), ['b']), { everyMs: 5 });
  assert.deepEqual(await chosen('v1', 'spec.size'), ['b']);
  assert.deepEqual(await chosen('v2', 'spec.replicas'), ['b']);
  assert.equal(await chosen('v2', 'spec.size'), 'field label not supported: spec.size');
});

test('each version has its replicas where it says', async () => {
  const scale = (field: string) => ({
    subresources: { scale: { specReplicasPath: `.spec.${field}`, statusReplicasPath: '.status.n' } },
  });
  const crd = definition('ranks', 'Rank', scale('replicas')) as { spec: { versions: object[] } };
  const object = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  Object.assign(crd.spec.versions[1]!, {
    schema: { openAPIV3Schema: { ...object, properties: { spec: object, status: object } } },
    ...scale('size'),
  });
  assert.equal((await cluster.ask('POST', crds, crd)).status, 201);
  const made = { metadata: { name: 'a' }, spec: { size: 2, replicas: 3 } };
  await eventually(async () => assert.equal((await cluster.ask('POST', path('ranks'), made)).status, 201), {
    everyMs: 5,
  });
  for (const [version, replicas] of [
    ['v1', 3],
    ['v2', 2],
  ] as const) {
    const url = `${path('ranks', version)}/a/scale`;
    assert.deepEqual((await cluster.ask('GET', url)).body['spec'], { replicas });
    const grown = await cluster.ask('PATCH', url, { spec: { replicas: replicas + 5 } }, merge);
    assert.deepEqual(grown.body['spec'], { replicas: replicas + 5 }, grown.text);
  }
  assert.deepEqual((await cluster.ask('GET', `${path('ranks')}/a`)).body['spec'], { size: 7, replicas: 8 });
});

test('objects and kinds are there again after a restart', async () => {
  const next = await startTestControlPlane({ storage: cluster.storage, pki: cluster.pki });
  const found = await next.ask('GET', `${path('widgets')}/a`);
  assert.equal(found.status, 200, found.text);
});

test('without a webhook a version has the fields of its schema only, read or stored', async () => {
  const text = { type: 'string' };
  const version = (name: string, storage: boolean, properties: object): object => ({
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: { type: 'object', properties } },
  });
  const made = await cluster.ask('POST', crds, {
    metadata: { name: 'shapes.test.example.com' },
    spec: {
      group: 'test.example.com',
      scope: 'Namespaced',
      names: { plural: 'shapes', kind: 'Shape' },
      versions: [
        version('v1', true, { both: text, old: text }),
        version('v2', false, { both: text, new: text }),
      ],
    },
  });
  assert.equal(made.status, 201, made.text);
  await eventually(async () => assert.equal((await cluster.ask('GET', path('shapes'))).status, 200));
  await cluster.ask('POST', path('shapes'), { metadata: { name: 'a' }, both: 'b', old: 'o' });
  const as2 = (await cluster.ask('GET', `${path('shapes', 'v2')}/a`)).body;
  assert.deepEqual([as2['apiVersion'], as2['both'], as2['old']], ['test.example.com/v2', 'b', undefined]);
  const listed = await cluster.ask('GET', path('shapes', 'v2'));
  assert.deepEqual(listed.body['items'], [as2]);
  const stored = await cluster.ask('POST', path('shapes', 'v2'), {
    metadata: { name: 'c' },
    both: 'b',
    new: 'n',
  });
  assert.deepEqual([stored.status, stored.body['both'], stored.body['new']], [201, 'b', undefined]);
  assert.equal((await cluster.ask('GET', `${path('shapes')}/a`)).body['old'], 'o');
});
