// Kinds that another API server serves, through an APIService and its Service.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { systemClock } from '../../../src/component-base/system-clock.ts';
import { openPki } from '../../../src/controlplane/pki.ts';
import {
  type Answer,
  administrator,
  startTestControlPlane,
  type TestControlPlane,
  user,
} from '../../../src/controlplane/testing/test-control-plane.ts';
import type { KeyPairPem } from '../../../src/crypto/certificates.ts';
import { eventually } from '../../harness/eventually.ts';
import {
  type ExtensionServer,
  extensionGroup,
  extensionProtocol,
  startExtensionServer,
} from '../../harness/extension-server.ts';

const files = new Map<string, string>();
const pki = await openPki(
  { read: (name) => files.get(name), write: (name, text) => void files.set(name, text) },
  systemClock,
);
const frontProxy: KeyPairPem = await pki.frontProxyClient();
let plane: TestControlPlane;
let server: ExtensionServer;
before(async () => {
  server = await startExtensionServer({ frontProxyCa: pki.authorities.frontProxyCa() });
  plane = await startTestControlPlane({ pki, frontProxyClient: () => frontProxy });
  await plane.ask('POST', '/api/v1/namespaces', { metadata: { name: 'wardle' } });
  const service = await plane.ask('POST', '/api/v1/namespaces/wardle/services', {
    metadata: { name: 'api' },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  });
  assert.equal(service.status, 201, service.text);
  await register(extensionGroup, 'v1alpha1');
  await register('metrics.k8s.io', 'v1beta1');
  await available(`v1alpha1.${extensionGroup}`);
  await available('v1beta1.metrics.k8s.io');
});
after(async () => {
  await plane?.close();
  await server?.close();
});

const apiServices = '/apis/apiregistration.k8s.io/v1/apiservices';
const base = `/apis/${extensionGroup}/v1alpha1`;
const flunders = `${base}/namespaces/default/flunders`;

const specOf = (group: string, version: string): object => ({
  group,
  version,
  groupPriorityMinimum: 2000,
  versionPriority: 200,
  caBundle: server.caBundle,
  service: { namespace: 'wardle', name: 'api', port: server.port },
});

async function register(group: string, version: string): Promise<void> {
  const made = await plane.ask('POST', apiServices, {
    metadata: { name: `${version}.${group}` },
    spec: specOf(group, version),
  });
  assert.equal(made.status, 201, made.text);
  assert.deepEqual(made.warnings, []);
}

interface Condition {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

async function conditionOf(name: string): Promise<Partial<Condition>> {
  const { body } = await plane.ask('GET', `${apiServices}/${name}`);
  const { status = {} } = body as { status?: { conditions?: Condition[] } };
  return status.conditions?.[0] ?? {};
}

const available = (name: string): Promise<void> =>
  eventually(async () => {
    const { reason, message } = await conditionOf(name);
    assert.deepEqual([reason, message], ['Passed', 'all checks passed']);
  });

const lastAsked = (path: string) => server.asked.filter(({ url }) => url.startsWith(path)).at(-1)!;

test('its objects are made, read and listed, and it is told who asks', async () => {
  const jane = {
    ...user('jane', 'system:masters'),
    uid: 'u1',
    extra: { 'example.com/Team': ['a', 'b'], 'odd key': ['ü'] },
  };
  const made = await plane.ask('POST', `${flunders}?dryRun=`, { metadata: { name: 'one' } }, { user: jane });
  assert.equal(made.status, 201, made.text);
  const { headers, protocol, proxy, url } = lastAsked(flunders);
  assert.equal(protocol, extensionProtocol.usual === 'h2' ? '2.0' : '1.1');
  assert.equal(url, `${flunders}?dryRun=`);
  assert.equal(proxy, 'front-proxy-client');
  assert.equal(headers['x-remote-user'], 'jane');
  assert.equal(headers['x-remote-uid'], 'u1');
  assert.equal(headers['x-remote-group'], 'system:masters, system:authenticated');
  assert.equal(headers['x-remote-extra-example.com%2fteam'], 'a, b');
  assert.equal(headers['x-remote-extra-odd%20key'], Buffer.from('ü').toString('latin1'));
  assert.equal(headers['x-forwarded-for'], '192.0.2.7');
  assert.match(String(headers['audit-id']), /^[0-9a-f-]{36}$/);
  const read = await plane.ask('GET', `${flunders}/one`);
  assert.deepEqual(read.body, made.body);
  const list = await plane.ask('GET', flunders);
  assert.deepEqual((list.body['items'] as object[]).length, 1);
  const missing = await plane.ask('GET', `${flunders}/other`);
  assert.deepEqual([missing.status, missing.message], [404, 'flunders: NotFound']);
  const metrics = await plane.ask('GET', '/apis/metrics.k8s.io/v1beta1/nodes');
  assert.equal((metrics.body['items'] as object[]).length, 1);
});

test('rights are asked for here, before anybody else hears of it', async () => {
  const before = server.asked.length;
  const refused = await plane.ask('GET', flunders, undefined, { user: user('nobody') });
  assert.equal(refused.status, 403);
  assert.match(refused.message, /cannot list resource "flunders" in API group "wardle.example.com"/);
  assert.equal(server.asked.slice(before).filter(({ url }) => url.startsWith(flunders)).length, 0);
});

test('discovery tells of its groups beside those of this server', async () => {
  const groups = (answer: Answer): string[] =>
    (answer.body['groups'] as { name: string }[]).map(({ name }) => name);
  const names = groups(await plane.ask('GET', '/apis'));
  assert.equal(names[0], 'apiregistration.k8s.io');
  assert.deepEqual(names.slice(-2), ['metrics.k8s.io', extensionGroup]);
  const group = await plane.ask('GET', `/apis/${extensionGroup}`);
  assert.deepEqual(group.body['preferredVersion'], {
    groupVersion: `${extensionGroup}/v1alpha1`,
    version: 'v1alpha1',
  });
  const version = await plane.ask('GET', base);
  assert.equal((version.body['resources'] as object[]).length, 2);
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  await eventually(async () => {
    const whole = await plane.ask('GET', '/apis', undefined, { accept });
    const items = whole.body['items'] as {
      metadata: { name: string };
      versions: { version: string; freshness: string; resources: { resource: string }[] }[];
    }[];
    const found = items.find(({ metadata }) => metadata.name === extensionGroup)!;
    assert.deepEqual(
      found.versions.map((v) => [v.version, v.freshness, v.resources.map(({ resource }) => resource)]),
      [['v1alpha1', 'Current', ['flunders']]],
    );
    const apps = items.find(({ metadata }) => metadata.name === 'apps')!;
    assert.ok(apps.versions[0]!.resources.some(({ resource }) => resource === 'deployments'));
  });
  const how = { method: 'GET', url: '/apis', signal: new AbortController().signal, user: administrator };
  const get = (headers: Record<string, string>) =>
    plane.controlPlane.handle({
      ...how,
      headers,
      readBody: async () => Buffer.alloc(0),
      remoteAddress: '192.0.2.7',
    });
  const { etag } = (await get({ accept })).headers;
  const again = await get({ accept, 'if-none-match': String(etag) });
  assert.deepEqual([again.status, again.headers['etag'], again.body], [304, etag, undefined]);
  const openApi = await eventually(async () => {
    const { body } = await plane.ask('GET', '/openapi/v3');
    const found = (body['paths'] as Record<string, { serverRelativeURL: string }>)[base.slice(1)];
    assert.ok(found);
    return found.serverRelativeURL;
  });
  assert.equal(openApi, `/openapi/v3${base}?hash=AB`);
  const described = await plane.ask('GET', openApi);
  assert.deepEqual(described.body['info'], { title: 'extension' });
});

test('OpenAPI v2 describes its kinds, and nothing of this server as it says', async () => {
  interface Document {
    readonly paths: Record<string, Record<string, { operationId: string }>>;
    readonly definitions: Record<string, { description?: string }>;
  }
  const { paths, definitions } = await eventually(async () => {
    const { body } = await plane.ask('GET', '/openapi/v2');
    const document = body as unknown as Document;
    assert.ok(document.paths[`${base}/flunders`]);
    return document;
  });
  assert.equal(definitions['com.example.wardle.Flunder']?.description, 'Flunder is an example.');
  assert.ok(definitions['com.example.wardle.Part']);
  assert.equal(definitions['com.example.wardle.Stolen'], undefined);
  const shared = definitions['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'];
  assert.match(String(shared?.description), /^What every stored object has/);
  assert.equal(paths['/api/v1/pods']?.['get']?.operationId, 'listCoreV1PodForAllNamespaces');
  const accept = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
  const { text } = await plane.ask('GET', '/openapi/v2', undefined, { accept });
  for (const said of ['com.example.wardle.Part', `${base}/flunders`]) assert.ok(text.includes(said));
});

test('a table shows which servers there are', async () => {
  const table = await plane.ask('GET', apiServices, undefined, {
    accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
  });
  const rows = (table.body['rows'] as { cells: string[] }[]).map(({ cells }) => cells.slice(0, 3));
  assert.deepEqual(
    rows.find(([name]) => name === `v1alpha1.${extensionGroup}`),
    [`v1alpha1.${extensionGroup}`, 'wardle/api', 'True'],
  );
  assert.deepEqual(
    rows.find(([name]) => name === 'v1.apps'),
    ['v1.apps', 'Local', 'True'],
  );
});

interface Named {
  readonly metadata: { readonly name: string };
}

test('a watch goes through as it comes, and ends with its watcher', async () => {
  const left = new AbortController();
  const client = plane.controlPlane.clientFor(administrator);
  const resource = {
    group: extensionGroup,
    version: 'v1alpha1',
    resource: 'flunders',
    kind: 'Flunder',
    namespaced: true,
  };
  const seen: string[] = [];
  const watching = (async () => {
    for await (const event of client.watch<Named>(resource, { namespace: 'default', signal: left.signal }))
      seen.push(`${event.type} ${(event.object as Named).metadata.name}`);
  })().catch(() => undefined);
  await eventually(() => assert.ok(lastAsked(flunders).url.includes('watch=')));
  await plane.ask('POST', flunders, { metadata: { name: 'watched' } });
  await eventually(() => assert.deepEqual(seen, ['ADDED watched']));
  await plane.ask('DELETE', `${flunders}/watched`);
  await eventually(() => assert.deepEqual(seen, ['ADDED watched', 'DELETED watched']));
  left.abort();
  await watching;
});

const condition = async (name: string, expected: Partial<Condition>): Promise<void> =>
  eventually(async () => {
    const { status, reason, message } = await conditionOf(name);
    assert.deepEqual({ status, reason, message }, expected);
  });

test('a server that hangs is asked no longer than its client says that it waits', {
  timeout: 20_000,
}, async () => {
  const hung = Promise.withResolvers<void>();
  server.answers.set(`${flunders}/hangs`, (_, response) => void response.once('close', hung.resolve));
  const late = await plane.ask('GET', `${flunders}/hangs?timeout=500ms`);
  assert.equal(late.status, 504, late.text);
  await hung.promise;
  server.answers.delete(`${flunders}/hangs`);
});

test('each fault of a Service is told in the words of upstream, and its requests are refused', async () => {
  const name = 'v1.faulty.example.com';
  const spec = (service: object): object => ({
    ...specOf('faulty.example.com', 'v1'),
    service: { namespace: 'wardle', name: 'faulty', ...service },
  });
  const made = await plane.ask('POST', apiServices, { metadata: { name }, spec: spec({}) });
  assert.equal(made.status, 201, made.text);
  const where = 'service/faulty in "wardle"';
  const told = (reason: string, message: string): Promise<void> =>
    condition(name, { status: 'False', reason, message });
  await told('ServiceNotFound', `${where} is not present`);
  const refused = await plane.ask('GET', '/apis/faulty.example.com/v1/things');
  assert.deepEqual([refused.status, refused.text], [503, 'service unavailable\n']);
  await plane.ask('POST', '/api/v1/namespaces/wardle/services', {
    metadata: { name: 'faulty' },
    spec: { ports: [{ name: 'https', port: 8443 }] },
  });
  await told('ServicePortError', `${where} is not listening on port 443`);
  await plane.ask('PATCH', `${apiServices}/${name}`, { spec: { service: { port: 8443 } } });
  await told('EndpointsNotFound', `cannot find endpointslices for ${where}`);
  const slice = {
    metadata: { name: 'faulty', labels: { 'kubernetes.io/service-name': 'faulty' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['192.0.2.99'], conditions: { ready: false } }],
    ports: [{ name: 'https', port: 8443 }],
  };
  const slices = '/apis/discovery.k8s.io/v1/namespaces/wardle/endpointslices';
  await plane.ask('POST', slices, slice);
  await told('MissingEndpoints', `endpointslices for ${where} have no addresses with port name "https"`);
  await plane.ask('PATCH', `${slices}/faulty`, {
    endpoints: [{ addresses: ['192.0.2.99'], conditions: { ready: true } }],
  });
  await eventually(async () => {
    const { reason, message = '' } = await conditionOf(name);
    const url = 'https://192.0.2.99:8443/apis/faulty.example.com/v1';
    assert.equal(reason, 'FailedDiscoveryCheck', message);
    assert.ok(message.startsWith(`failing or missing response from ${url}: Get "${url}": `), message);
  });
  const { text } = await plane.metrics.text();
  assert.match(text, /^aggregator_unavailable_apiservice\{name="v1\.faulty\.example\.com"\} 1$/m);
  assert.match(text, /^aggregator_unavailable_apiservice\{name="v1\.apps"\} 0$/m);
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const whole = await plane.ask('GET', '/apis', undefined, { accept });
  const group = (whole.body['items'] as { metadata: { name: string }; versions: object[] }[]).find(
    ({ metadata }) => metadata.name === 'faulty.example.com',
  );
  assert.deepEqual(group?.versions, [{ version: 'v1', resources: [], freshness: 'Stale' }]);
  await plane.ask('DELETE', `${apiServices}/${name}`);
  await eventually(async () =>
    assert.equal((await plane.ask('GET', '/apis/faulty.example.com/v1/things')).status, 404),
  );
});

test('a server that stops working and works again is told of, counted and used again', async () => {
  const name = `v1alpha1.${extensionGroup}`;
  server.answers.set(base, (_, response) => void response.writeHead(500).end());
  await plane.ask('PATCH', `${apiServices}/${name}`, { metadata: { annotations: { look: 'again' } } });
  await plane.ask('PATCH', `${apiServices}/${name}`, { spec: { versionPriority: 201 } });
  const url = `https://localhost:${server.port}${base}`;
  await condition(name, {
    status: 'False',
    reason: 'FailedDiscoveryCheck',
    message: `failing or missing response from ${url}: bad status from ${url}: 500`,
  });
  assert.match(
    (await plane.metrics.text()).text,
    /^aggregator_unavailable_apiservice_total\{name="v1alpha1\.wardle\.example\.com",reason="FailedDiscoveryCheck"\} 1$/m,
  );
  assert.equal((await plane.ask('GET', flunders)).status, 503);
  server.answers.delete(base);
  await available(name);
  assert.equal((await plane.ask('GET', flunders)).status, 200);
});

test('an APIService of what is built in stays what it is', async () => {
  const url = `${apiServices}/v1.apps`;
  const before = await plane.ask('GET', url);
  const taken = await plane.ask('PATCH', url, { spec: specOf('apps', 'v1') });
  assert.equal(taken.status, 200, taken.text);
  assert.equal((await plane.ask('GET', '/apis/apps/v1/deployments')).body['kind'], 'DeploymentList');
  await eventually(async () => {
    const { body } = await plane.ask('GET', url);
    assert.deepEqual(body['spec'], before.body['spec']);
    assert.equal((await conditionOf('v1.apps')).reason, 'Local');
  });
  await plane.ask('DELETE', url);
  await eventually(async () => assert.equal((await plane.ask('GET', url)).status, 200));
  assert.ok(!server.asked.some(({ url: path }) => path.includes('/deployments')));
});

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const definition = (group: string): object => ({
  metadata: { name: `things.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
});

test("a definition's group has its APIService as long as it is there, and nobody else gets it", async () => {
  const url = `${apiServices}/v1.defined.example.com`;
  assert.equal((await plane.ask('POST', definitions, definition('defined.example.com'))).status, 201);
  const made = await eventually(async () => {
    const answer = await plane.ask('GET', url);
    assert.equal(answer.status, 200);
    return answer;
  });
  const { metadata, spec } = made.body as { metadata: { labels: object }; spec: object };
  assert.deepEqual(metadata.labels, { 'kube-aggregator.kubernetes.io/automanaged': 'true' });
  const own = {
    group: 'defined.example.com',
    version: 'v1',
    groupPriorityMinimum: 1000,
    versionPriority: 100,
  };
  assert.deepEqual(spec, own);
  const taken = await plane.ask('PATCH', url, { spec: specOf('defined.example.com', 'v1') });
  assert.equal(taken.status, 200, taken.text);
  await eventually(async () => assert.deepEqual((await plane.ask('GET', url)).body['spec'], own));
  await eventually(async () =>
    assert.equal((await plane.ask('GET', '/apis/defined.example.com/v1/things')).body['kind'], 'ThingList'),
  );
  await plane.ask('DELETE', `${definitions}/things.defined.example.com`);
  await eventually(async () => assert.equal((await plane.ask('GET', url)).status, 404));
});

test('an APIService that was there before a definition keeps its group', async () => {
  const group = 'first.example.com';
  await register(group, 'v1');
  server.answers.set(`/apis/${group}/v1`, (_, response) => void response.writeHead(200).end('{}'));
  await available(`v1.${group}`);
  await plane.ask('POST', definitions, definition(group));
  const created = await plane.ask('GET', `${definitions}/things.${group}`);
  assert.equal(created.status, 200);
  const answer = await plane.ask('GET', `/apis/${group}/v1/things`);
  assert.deepEqual([answer.status, answer.message], [404, 'flunders: NotFound']);
  await plane.ask('DELETE', `${apiServices}/v1.${group}`);
  await eventually(async () =>
    assert.equal((await plane.ask('GET', `/apis/${group}/v1/things`)).body['kind'], 'ThingList'),
  );
});

test('the rules of the kind are told as upstream tells them', async () => {
  const refused = async (name: string, spec: object): Promise<string> => {
    const { status, message } = await plane.ask('POST', apiServices, { metadata: { name }, spec });
    assert.equal(status, 422, message);
    return message.replace(/^.* is invalid: /, '');
  };
  assert.equal(
    await refused('v1.a', { ...specOf('b', 'v1') }),
    'metadata.name: Invalid value: "v1.a": must be `spec.version+"."+spec.group`: "v1.b"',
  );
  assert.equal(
    await refused('v1.b', { ...specOf('b', 'v1'), groupPriorityMinimum: 20_001 }),
    'spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000',
  );
  assert.equal(
    await refused('v1.b', { ...specOf('b', 'v1'), insecureSkipTLSVerify: true }),
    'spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present',
  );
  const url = `${apiServices}/v1alpha1.${extensionGroup}/status`;
  const status = await plane.ask('PATCH', url, {
    status: { conditions: [{ type: 'Available', status: 'Maybe' }] },
  });
  assert.match(
    status.message,
    /status\.conditions\[0\]\.status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"$/,
  );
});

test('what a server says in OpenAPI v2 only is converted, and told here', async () => {
  server.answers.set('/openapi/v3', (_, response) => response.writeHead(404).end());
  const name = `v1alpha1.${extensionGroup}`;
  const changed = await plane.ask('PATCH', `${apiServices}/${name}`, { spec: { versionPriority: 17 } });
  assert.equal(changed.status, 200, changed.text);
  const openApi = await eventually(async () => {
    const { body } = await plane.ask('GET', '/openapi/v3');
    const found = (body['paths'] as Record<string, { serverRelativeURL: string }>)[base.slice(1)];
    assert.match(String(found?.serverRelativeURL), /\?hash=[0-9A-F]{64}$/);
    return found!.serverRelativeURL;
  });
  const described = await plane.ask('GET', openApi);
  assert.equal(described.headers['cache-control'], 'public, immutable');
  const { openapi, paths, components } = described.body as unknown as {
    openapi: string;
    paths: Record<string, object>;
    components: { schemas: Record<string, { description?: string }> };
  };
  assert.equal(openapi, '3.0.0');
  assert.ok(paths[`${base}/flunders`]);
  assert.ok(Object.keys(paths).every((path) => path.startsWith(base)));
  assert.equal(components.schemas['com.example.wardle.Flunder']?.description, 'Flunder is an example.');
  assert.ok(!described.text.includes('#/definitions/'));
  const refused = await plane.ask('GET', openApi, undefined, { anonymous: true });
  assert.equal(refused.status, 401);
  server.answers.delete('/openapi/v3');
});
