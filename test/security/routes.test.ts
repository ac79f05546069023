// Whoever asks, by whatever route: what is shown and changed is what was authorized. Every resource of the scheme,
// every shape of path, query and method, judged by what comes back and by what the store holds afterwards.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { JsonObject, ResourceDeclaration } from '../../src/apimachinery/declaration.ts';
import type { UserInfo } from '../../src/apiserver/authentication/user-info.ts';
import { type ApiResponse, isPullBody } from '../../src/apiserver/http.ts';
import { encodeDraft } from '../../src/apiserver/registry/encode.ts';
import {
  startTestControlPlane,
  type TestControlPlane,
  user,
} from '../../src/controlplane/testing/test-control-plane.ts';

let plane: TestControlPlane;
let kinds: readonly ResourceDeclaration[] = [];
const rbac = '/apis/rbac.authorization.k8s.io/v1';
/** May do everything with objects called `mine`, wherever they are. */
const byName = user('by-name');
/** May do everything in namespace a. */
const byNamespace = user('by-namespace');

const anything = (verbs: readonly string[], names?: readonly string[]): JsonObject => ({
  apiGroups: ['*'],
  resources: ['*'],
  verbs: [...verbs],
  ...(names === undefined ? {} : { resourceNames: [...names] }),
});

async function grant(name: string, rule: JsonObject, to: UserInfo, namespace = ''): Promise<void> {
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: to.name }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  const role = await plane.ask('POST', `${rbac}/clusterroles`, { metadata: { name }, rules: [rule] });
  assert.equal(role.status, 201, role.text);
  const place = namespace === '' ? 'clusterrolebindings' : `namespaces/${namespace}/rolebindings`;
  const bound = await plane.ask('POST', `${rbac}/${place}`, { metadata: { name }, roleRef, subjects });
  assert.equal(bound.status, 201, bound.text);
}

const markerOf = (namespace: string, name: string): string => `<<${namespace}/${name}>>`;
const places = (kind: ResourceDeclaration): readonly string[] => (kind.namespaced ? ['a', 'b'] : ['']);
const storeOf = (kind: ResourceDeclaration) =>
  plane.controlPlane.api.store(kind.group, kind.version, kind.resource);

/** Straight into the store, so that every kind has objects whatever its rules ask for. */
async function plant(kind: ResourceDeclaration): Promise<void> {
  for (const namespace of places(kind))
    for (const name of ['mine', 'other']) {
      const object: JsonObject = {
        kind: kind.kind,
        apiVersion: kind.group === '' ? kind.version : `${kind.group}/${kind.version}`,
        metadata: {
          name,
          ...(namespace === '' ? {} : { namespace }),
          uid: `uid-${kind.resource}-${namespace}-${name}`,
          annotations: { marker: markerOf(namespace, name) },
        },
      };
      await storeOf(kind).cache.create(namespace, name, encodeDraft(object), object);
    }
}

before(async () => {
  plane = await startTestControlPlane();
  for (const name of ['a', 'b']) await plane.ask('POST', '/api/v1/namespaces', { metadata: { name } });
  await grant('by-name', anything(['*'], ['mine']), byName);
  await grant('by-namespace', anything(['*']), byNamespace, 'a');
  const all = plane.controlPlane.api.scheme.resources();
  // The server itself reads flow schemas at each request: one without a spec, as they are planted here, can't be.
  const readByServer = ['flowcontrol.apiserver.k8s.io'];
  kinds = all.filter(
    (k) =>
      !k.virtual &&
      k.storage.version === k.version &&
      k.storage.group === k.group &&
      !readByServer.includes(k.group),
  );
  for (const kind of kinds) await plant(kind);
});
after(() => plane.close());

const base = (kind: ResourceDeclaration): string =>
  kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;

const queries = [
  '',
  'watch=1',
  'watch=',
  'watch=1&timeoutSeconds=9',
  'fieldSelector=metadata.name%3Dmine',
  'fieldSelector=metadata.name%3D%3Dmine',
  'fieldSelector=metadata.name%3Dother',
  'fieldSelector=metadata.name!%3Dmine',
  'fieldSelector=metadata.name%3Dmine%2Cmetadata.name%3Dother',
  'fieldSelector=metadata.namespace%3Da%5C%2Cmetadata.name%3Dmine',
  'fieldSelector=metadata.name%3Dmine&fieldSelector=metadata.name%3Dother',
  'fieldSelector=&fieldSelector=metadata.name%3Dmine',
  'watch=true&fieldSelector=metadata.name%3Dmine',
  'watch=true&fieldSelector=metadata.name!%3Dother',
  'watch=f&fieldSelector=metadata.name%3Dmine',
  'watch=true&watch=false&fieldSelector=metadata.name%3Dmine',
  'resourceVersion=0&resourceVersionMatch=NotOlderThan',
  'fieldSelector=metadata.name%3Dmine&resourceVersion=1&resourceVersionMatch=Exact',
  'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1',
  'fieldSelector=metadata.name%3Dmine&watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
  'limit=1',
  `limit=9&continue=${Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: -1, start: 'a/a' })).toString('base64url')}`,
] as const;

/** Every shape of a path that leads to the resource, or pretends to; a collection with every query. */
function urls(kind: ResourceDeclaration): string[] {
  const root = base(kind);
  const collections = [root, `${root}/watch`].flatMap((r) => [
    `${r}/${kind.resource}`,
    `${r}/namespaces/a/${kind.resource}`,
    `${r}/namespaces/b/${kind.resource}`,
  ]);
  const odd = [`${root}/namespaces/mine/${kind.resource}`, `${root}/namespaces//${kind.resource}`];
  const named = [...collections, ...odd].flatMap((c) => [
    `${c}/mine`,
    `${c}/other`,
    `${c}/mine?watch=1`,
    `${c}/mine?fieldSelector=metadata.name%3Dother`,
    `${c}/mine?watch=1&fieldSelector=metadata.name!%3Dmine`,
    `${c}/mine/other`,
    `${c}/mine%2F..%2Fother`,
    ...kind.subresources.flatMap((s) => [`${c}/mine/${s.name}`, `${c}/mine/${s.name}/other`]),
  ]);
  const lists = collections.flatMap((c) => queries.map((query) => (query === '' ? c : `${c}?${query}`)));
  return [...lists, ...odd, ...named, `${root}/proxy/${kind.resource}/mine`];
}

/** All that comes at once, and what a change of every object brings. */
async function shownBy(response: ApiResponse, kind: ResourceDeclaration): Promise<string> {
  const { body } = response;
  if (body === undefined) return '';
  if (!isPullBody(body)) return (Buffer.isBuffer(body) ? body : Buffer.concat([...body])).toString();
  let text = '';
  const drain = (): void => {
    for (let empty = 0; empty < 2; ) {
      const bytes = body.pull(1 << 20);
      if (bytes === null) return;
      if (bytes === undefined) empty++;
      else text += bytes.toString();
    }
  };
  drain();
  await touch(kind);
  drain();
  body.close();
  return text;
}

async function touch(kind: ResourceDeclaration): Promise<void> {
  const { cache } = storeOf(kind);
  for (const namespace of places(kind))
    for (const name of ['mine', 'other']) {
      const current = cache.get(namespace, name);
      if (current === undefined) continue;
      const object = JSON.parse(current.value.toString()) as JsonObject;
      await cache.update(namespace, name, encodeDraft(object), object, current.revision);
    }
}

async function send(
  who: UserInfo,
  method: string,
  url: string,
  body?: JsonObject,
  contentType = 'application/json',
): Promise<ApiResponse> {
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body));
  return plane.controlPlane.handle({
    method,
    url,
    headers: { 'content-type': contentType },
    readBody: async () => bytes,
    signal: new AbortController().signal,
    remoteAddress: '192.0.2.7',
    user: who,
  });
}

const markers = (text: string): string[] =>
  [...text.matchAll(/(?:<<|\\u003c\\u003c)([a-z]*)\/([a-z]+)(?:>>|\\u003e\\u003e)/g)].map(
    ([, namespace, name]) => `${namespace}/${name}`,
  );

async function readEverything(who: UserInfo, mayShow: (place: string) => boolean): Promise<number> {
  let seen = 0;
  for (const kind of kinds)
    for (const url of urls(kind)) {
      const response = await send(who, 'GET', url);
      const text = await shownBy(response, kind);
      assert.ok(response.status < 500, `${response.status} GET ${url} ${text}`);
      const shown = markers(text);
      seen += shown.length;
      const wrong = shown.filter((place) => !mayShow(place));
      assert.deepEqual(wrong, [], `${who.name} saw ${wrong.join(' ')} by GET ${url}`);
    }
  return seen;
}

test('whoever may read by name is shown that object alone, by every route', async (t) => {
  const seen = await readEverything(byName, (place) => place.endsWith('/mine'));
  t.diagnostic(`${kinds.length} kinds, ${seen} objects shown`);
  assert.ok(seen > 1000, String(seen));
});

test('whoever may read in one namespace is shown that namespace alone, by every route', async (t) => {
  const seen = await readEverything(byNamespace, (place) => place.startsWith('a/'));
  t.diagnostic(`${seen} objects shown`);
  assert.ok(seen > 1000, String(seen));
});

const held = (kind: ResourceDeclaration): ReadonlyMap<string, string> =>
  new Map(
    storeOf(kind)
      .cache.list({ namespace: '', limit: 0 })
      .items.map((item) => [`${item.index.namespace}/${item.index.name}`, item.value.toString()]),
  );

const writes = [
  ['POST', 'application/json'],
  ['PUT', 'application/json'],
  ['PATCH', 'application/merge-patch+json'],
  ['PATCH', 'application/apply-patch+yaml'],
  ['DELETE', 'application/json'],
] as const;

/** Every write by every route; `check` compares what the store held before and after. */
async function writeEverything(
  who: UserInfo,
  check: (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>, what: string) => void,
  only: readonly ResourceDeclaration[] = kinds,
): Promise<void> {
  for (const kind of only)
    for (const url of urls(kind)) {
      const name = /\/(mine|other)(?:$|[/?])/.exec(url)?.[1];
      const body: JsonObject = {
        kind: kind.kind,
        apiVersion: base(kind).replace(/^\/apis?\//, ''),
        metadata: { ...(name === undefined ? {} : { name }), labels: { touched: 'yes' } },
      };
      for (const [method, type] of writes) {
        const earlier = held(kind);
        const to = `${url}${url.includes('?') ? '&' : '?'}fieldManager=x`;
        const answer = await send(who, method, to, method === 'DELETE' ? undefined : body, type);
        if (answer.body !== undefined && isPullBody(answer.body)) answer.body.close();
        check(earlier, held(kind), `${who.name} ${method} ${url}`);
      }
    }
}

const changed = (earlier: ReadonlyMap<string, string>, later: ReadonlyMap<string, string>): string[] =>
  [...new Set([...earlier.keys(), ...later.keys()])].filter((key) => earlier.get(key) !== later.get(key));

/** Kinds whose writes are judged one by one; their rules differ, their route does not. */
const writable = (): ResourceDeclaration[] =>
  kinds.filter(({ resource }) =>
    ['configmaps', 'secrets', 'pods', 'leases', 'priorityclasses', 'endpoints', 'replicasets'].includes(
      resource,
    ),
  );

test('whoever may write by name or in one namespace changes nothing else, by every route', async () => {
  let count = 0;
  const allowed =
    (mine: (place: string) => boolean) =>
    (earlier: ReadonlyMap<string, string>, later: ReadonlyMap<string, string>, what: string): void => {
      const places = changed(earlier, later);
      count += places.length;
      assert.deepEqual(
        places.filter((place) => !mine(place)),
        [],
        what,
      );
    };
  await writeEverything(
    byName,
    allowed((place) => place.endsWith('/mine')),
    writable(),
  );
  await writeEverything(
    byNamespace,
    allowed((place) => place.startsWith('a/')),
    writable(),
  );
  assert.ok(count > 20, String(count));
});

/** Bodies that the rules of their kind take: what is refused then is refused for what the user may. */
const acceptable: readonly (readonly [string, JsonObject])[] = [
  ['/api/v1/namespaces/a/configmaps', { kind: 'ConfigMap', apiVersion: 'v1' }],
  ['/api/v1/namespaces/a/secrets', { kind: 'Secret', apiVersion: 'v1' }],
  ['/api/v1/namespaces/a/serviceaccounts', { kind: 'ServiceAccount', apiVersion: 'v1' }],
  ['/api/v1/namespaces/a/endpoints', { kind: 'Endpoints', apiVersion: 'v1' }],
  ['/api/v1/namespaces', { kind: 'Namespace', apiVersion: 'v1' }],
  ['/api/v1/nodes', { kind: 'Node', apiVersion: 'v1' }],
  [
    '/apis/coordination.k8s.io/v1/namespaces/a/leases',
    { kind: 'Lease', apiVersion: 'coordination.k8s.io/v1' },
  ],
  [`${rbac}/namespaces/a/roles`, { kind: 'Role', apiVersion: 'rbac.authorization.k8s.io/v1', rules: [] }],
  [`${rbac}/clusterroles`, { kind: 'ClusterRole', apiVersion: 'rbac.authorization.k8s.io/v1', rules: [] }],
  [
    '/apis/scheduling.k8s.io/v1/priorityclasses',
    { kind: 'PriorityClass', apiVersion: 'scheduling.k8s.io/v1', value: 1 },
  ],
  [
    '/api/v1/namespaces/a/pods',
    { kind: 'Pod', apiVersion: 'v1', spec: { containers: [{ name: 'c', image: 'i' }] } },
  ],
  ['/apis/example.com/v1/namespaces/a/things', { kind: 'Thing', apiVersion: 'example.com/v1' }],
];

async function defineThings(): Promise<void> {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const made = await plane.ask('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  });
  assert.equal(made.status, 201, made.text);
}

test('nothing is created by a user who may do everything but create', async () => {
  await defineThings();
  const verbs = ['get', 'list', 'watch', 'update', 'patch', 'delete', 'deletecollection', 'escalate', 'bind'];
  const editor = user('editor');
  await grant('all-but-create', anything(verbs), editor);
  await plane.ask('POST', '/api/v1/namespaces/a/serviceaccounts', { metadata: { name: 'default' } });
  let refused = 0;
  for (const [collection, object] of acceptable)
    for (const [method, type] of writes.slice(0, 4)) {
      const body = { ...object, metadata: { name: 'made-anew' } };
      const url = `${collection}${method === 'POST' ? '' : '/made-anew'}?fieldManager=x`;
      const before = await plane.ask('GET', `${collection}/made-anew`);
      assert.equal(before.status, 404, `${method} ${url}`);
      const answer = await send(editor, method, url, body, type);
      assert.ok(answer.status === 403 || answer.status === 404, `${answer.status} ${method} ${url} ${type}`);
      assert.equal((await plane.ask('GET', `${collection}/made-anew`)).status, 404, `${method} ${url}`);
      // The same request of one who may: what was refused above was refused for the verb.
      const dry = await send(
        { name: 'root', groups: ['system:masters'] },
        method,
        `${url}&dryRun=All`,
        body,
        type,
      );
      assert.equal(answer.status, dry.status === 201 ? 403 : 404, `${dry.status} ${method} ${url} ${type}`);
      if (answer.status === 403) refused++;
    }
  // A POST and an apply of each kind, and a PUT of those that a PUT creates: endpoints, leases, RBAC.
  assert.equal(refused, 2 * acceptable.length + 4);
});

test("the refusal names the object in upstream's words, and create with the name alone is enough", async () => {
  const applier = user('applier');
  const namespace = '/api/v1/namespaces/a/configmaps';
  const rule = { apiGroups: [''], resources: ['configmaps'] };
  await grant('patch-configmaps', { ...rule, verbs: ['patch'] }, applier);
  const body = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'applied' } };
  const apply = () =>
    plane.ask('PATCH', `${namespace}/applied?fieldManager=x`, body, {
      user: applier,
      contentType: 'application/apply-patch+yaml',
    });
  const refused = await apply();
  assert.equal(refused.status, 403);
  assert.equal(refused.message, 'configmaps "applied" is forbidden: ');
  await grant('create-applied', { ...rule, verbs: ['create'], resourceNames: ['applied'] }, applier);
  assert.equal((await apply()).status, 201);
  assert.equal((await apply()).status, 200);
});

test('an apply of a role or a binding grants nothing that the user does not hold', async () => {
  const granter = user('granter');
  const verbs = ['create', 'get', 'patch', 'update'];
  await grant('write-rbac', { apiGroups: ['rbac.authorization.k8s.io'], resources: ['*'], verbs }, granter);
  const meta = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'risen' } };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'granter' }];
  for (const [resource, body] of [
    ['clusterroles', { kind: 'ClusterRole', rules: [anything(['*'])] }],
    ['clusterroles', { kind: 'ClusterRole', aggregationRule: { clusterRoleSelectors: [{}] } }],
    ['clusterrolebindings', { kind: 'ClusterRoleBinding', roleRef, subjects }],
    ['namespaces/a/roles', { kind: 'Role', rules: [anything(['*'])] }],
    ['namespaces/a/rolebindings', { kind: 'RoleBinding', roleRef, subjects }],
  ] as const)
    for (const [method, type] of writes.slice(0, 4)) {
      const url = `${rbac}/${resource}${method === 'POST' ? '' : '/risen'}?fieldManager=x`;
      const answer = await send(granter, method, url, { ...meta, ...body } as JsonObject, type);
      const expected = type.includes('merge') ? 404 : 403;
      assert.equal(answer.status, expected, `${method} ${url} ${type}`);
      assert.equal((await plane.ask('GET', `${rbac}/${resource}/risen`)).status, 404);
    }
});

const merge = (who: UserInfo) => ({ user: who, contentType: 'application/merge-patch+json' });

test('a label puts no role into an aggregated one, by whoever does not hold its rules', async () => {
  const labeller = user('labeller');
  const verbs = ['create', 'get', 'patch', 'update'];
  await grant('label-rbac', { apiGroups: ['rbac.authorization.k8s.io'], resources: ['*'], verbs }, labeller);
  const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' };
  for (const target of [
    'clusterroles/cluster-admin',
    'clusterroles/admin',
    'clusterrolebindings/cluster-admin',
    'namespaces/kube-system/roles/system:controller:bootstrap-signer',
    'namespaces/kube-system/rolebindings/system:controller:bootstrap-signer',
  ]) {
    const url = `${rbac}/${target}`;
    const before = JSON.parse((await plane.ask('GET', url)).text) as JsonObject;
    for (const metadata of [{ labels }, { annotations: { a: 'b' } }]) {
      const merged = await plane.ask('PATCH', url, { metadata }, merge(labeller));
      assert.equal(merged.status, 403, `${url} ${merged.text}`);
      assert.match(merged.text, /attempting to grant RBAC permissions not currently held/);
      const put = { ...before, metadata: { ...(before.metadata as JsonObject), ...metadata } };
      assert.equal((await send(labeller, 'PUT', url, put, 'application/json')).status, 403);
    }
    assert.deepEqual(
      (JSON.parse((await plane.ask('GET', url)).text) as JsonObject).metadata,
      before.metadata,
    );
    // What garbage collection and its finalizers need is nobody's right.
    const finalizers = { metadata: { finalizers: ['example.com/kept'] } };
    assert.equal(
      (await send(labeller, 'PATCH', url, finalizers, 'application/merge-patch+json')).status,
      200,
    );
    const none = { metadata: { finalizers: [] } };
    assert.equal((await send(labeller, 'PATCH', url, none, 'application/merge-patch+json')).status, 200);
  }
});

test('whatever an aggregated role becomes, who changes it holds everything', async () => {
  const aggregator = user('aggregator');
  const verbs = ['create', 'get', 'patch', 'update'];
  await grant(
    'write-roles',
    { apiGroups: ['rbac.authorization.k8s.io'], resources: ['*'], verbs },
    aggregator,
  );
  const selectors = { clusterRoleSelectors: [{ matchLabels: { 'no-such': 'label' } }] };
  const role = { kind: 'ClusterRole', apiVersion: 'rbac.authorization.k8s.io/v1' };
  const url = `${rbac}/clusterroles/gathers`;
  const made = { ...role, metadata: { name: 'gathers' }, aggregationRule: selectors };
  assert.equal((await plane.ask('POST', `${rbac}/clusterroles`, made)).status, 201);
  for (const patch of [{ metadata: { labels: { a: 'b' } } }, { aggregationRule: null }]) {
    const { status, text } = await plane.ask('PATCH', url, patch, merge(aggregator));
    assert.equal(status, 403);
    assert.match(text, /must have cluster-admin privileges to use the aggregationRule"/);
  }
});
