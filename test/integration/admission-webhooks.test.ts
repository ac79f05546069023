// Admission webhooks of real HTTPS servers, asked by a real control plane.
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { startTestControlPlane, user } from '../../src/controlplane/testing/test-control-plane.ts';
import { streamingStorage } from '../../src/registry/core/streaming-storage.ts';
import { patchOf, startWebhookServer } from '../harness/webhook-server.ts';

const plane = await startTestControlPlane({
  streaming: streamingStorage({
    random: systemRandom,
    isMachine: () => false,
    connection: () => assert.fail('no kubelet is asked'),
  }),
});
const server = await startWebhookServer();
after(async () => {
  await plane.close();
  await server.close();
});
const { ask } = plane;
const registration = '/apis/admissionregistration.k8s.io/v1';
const configMaps = '/api/v1/namespaces/default/configmaps';
const rule = { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] };

interface Hook {
  readonly [member: string]: unknown;
}
const made: string[] = [];

async function configure(
  kind: 'mutating' | 'validating',
  name: string,
  ...hooks: readonly Hook[]
): Promise<void> {
  const url = `${registration}/${kind}webhookconfigurations`;
  const answer = await ask('POST', url, {
    metadata: { name },
    webhooks: hooks.map((hook, i) => ({
      name: `h${i}.example.com`,
      clientConfig: { url: `${server.url}/${name}`, caBundle: server.caBundle },
      rules: [rule],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      ...hook,
    })),
  });
  assert.equal(answer.status, 201, answer.text);
  made.push(`${url}/${name}`);
}

beforeEach(async () => {
  for (const url of made.splice(0)) await ask('DELETE', url);
  server.asked.splice(0);
  server.answers.clear();
});

const create = (name: string, more: object = {}) => ask('POST', configMaps, { metadata: { name }, ...more });
const dataOf = (answer: { body: Record<string, unknown> }): unknown => answer.body['data'];

test('a mutating webhook changes an object, a validating one refuses it, and they see what upstream shows', async () => {
  await configure('mutating', 'mutate', {});
  await configure('validating', 'validate', {});
  server.answers.set('/mutate', () => ({
    allowed: true,
    ...patchOf({ op: 'add', path: '/data', value: { added: 'yes' } }),
  }));
  const answer = await ask(
    'POST',
    `${configMaps}?fieldManager=me`,
    { metadata: { name: 'one' } },
    { user: { ...user('jane', 'system:masters'), uid: 'u1', extra: { team: ['a'] } } },
  );
  assert.equal(answer.status, 201, answer.text);
  assert.deepEqual(dataOf(answer), { added: 'yes' });
  const [mutating, validating] = server.asked;
  assert.equal(mutating?.path, '/mutate?timeout=10s');
  assert.equal(mutating?.headers['user-agent'], 'kube-apiserver-admission');
  assert.equal(mutating?.apiVersion, 'admission.k8s.io/v1');
  const { uid, object, ...request } = mutating!.request;
  assert.match(uid, /^[0-9a-f-]{36}$/);
  assert.equal((object as never as { kind: string }).kind, 'ConfigMap');
  const kind = { group: '', version: 'v1', kind: 'ConfigMap' };
  const resource = { group: '', version: 'v1', resource: 'configmaps' };
  assert.deepEqual(request, {
    kind,
    resource,
    requestKind: kind,
    requestResource: resource,
    name: 'one',
    namespace: 'default',
    operation: 'CREATE',
    userInfo: {
      username: 'jane',
      uid: 'u1',
      groups: ['system:masters', 'system:authenticated'],
      extra: { team: ['a'] },
    },
    oldObject: null,
    dryRun: false,
    options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1', fieldManager: 'me' },
  });
  const seen = validating!.request.object as never as { data: object; metadata: { uid: string } };
  assert.deepEqual(seen.data, { added: 'yes' });
  assert.equal(seen.metadata.uid, (answer.body['metadata'] as { uid: string }).uid);

  server.answers.set('/validate', () => ({ allowed: false, status: { message: 'not today', code: 409 } }));
  const refused = await ask('PATCH', `${configMaps}/one`, { data: { b: 'c' } });
  assert.deepEqual(
    [refused.status, refused.message],
    [409, 'admission webhook "h0.example.com" denied the request: not today'],
  );
  assert.equal(server.asked.at(-1)?.request.operation, 'UPDATE');
  assert.deepEqual(dataOf({ body: server.asked.at(-1)!.request.oldObject! }), { added: 'yes' });
  server.answers.delete('/mutate');
  const kept = await ask('DELETE', `${configMaps}/one`);
  assert.equal(kept.status, 409, kept.text);
  assert.equal(server.asked.at(-1)?.request.object, null);
  server.answers.clear();
  assert.equal((await ask('DELETE', `${configMaps}/one`)).status, 200);
});

test('a webhook behind a Service is asked by its name in the cluster', async () => {
  await ask('POST', '/api/v1/namespaces', { metadata: { name: 'hooks' } });
  const service = { name: 'webhook', namespace: 'hooks', path: '/in/service/', port: server.port };
  await configure('validating', 'by-service', {
    clientConfig: { service, caBundle: server.caBundle },
  });
  const missing = await create('none');
  assert.deepEqual(
    [missing.status, missing.message],
    [
      500,
      `Internal error occurred: failed calling webhook "h0.example.com": failed to call webhook: Post "https://webhook.hooks.svc:${server.port}/in/service?timeout=10s": service "webhook" not found`,
    ],
  );
  await ask('POST', '/api/v1/namespaces/hooks/services', {
    metadata: { name: 'webhook' },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  });
  const answer = await create('by-service');
  assert.equal(answer.status, 201, answer.text);
  assert.equal(server.asked.at(-1)?.path, '/in/service?timeout=10s');
  assert.equal(server.asked.at(-1)?.headers.host, `webhook.hooks.svc:${server.port}`);
});

test('failurePolicy says whether a request goes on without its webhook', async () => {
  const dead = { clientConfig: { url: 'https://127.0.0.1:1/x', caBundle: server.caBundle } };
  await configure('mutating', 'open', { ...dead, failurePolicy: 'Ignore' });
  await configure('validating', 'open', { ...dead, failurePolicy: 'Ignore' });
  assert.equal((await create('ignored')).status, 201);
  await configure('validating', 'closed', { ...dead, timeoutSeconds: 3 });
  const refused = await create('refused');
  assert.deepEqual(
    [refused.status, refused.message],
    [
      500,
      'Internal error occurred: failed calling webhook "h0.example.com": failed to call webhook: Post "https://127.0.0.1:1/x?timeout=3s": dial tcp 127.0.0.1:1: connect: connection refused',
    ],
  );
});

const paths = (): string[] => server.asked.map(({ path }) => path.split('?', 1)[0]!);
const add = (path: string, value: unknown): object => ({ op: 'add', path, value });
const labelled = (label: string): Record<string, unknown> => ({
  allowed: true,
  ...patchOf(add(`/metadata/labels/${label}`, 'yes')),
});

test('mutating webhooks are asked by the names of their configurations; IfNeeded once more after others changed the object', async () => {
  const hook = (path: string, more: object = {}): Hook => ({
    name: `${path}.example.com`,
    clientConfig: { url: `${server.url}/${path}`, caBundle: server.caBundle },
    ...more,
  });
  await configure('mutating', 'b', hook('b1'), hook('b2', { reinvocationPolicy: 'IfNeeded' }));
  await configure('mutating', 'a', hook('a1', { reinvocationPolicy: 'IfNeeded' }), hook('a2'));
  for (const path of ['a1', 'b1']) server.answers.set(`/${path}`, () => labelled(path));
  const answer = await create('ordered', { metadata: { name: 'ordered', labels: { own: 'yes' } } });
  assert.equal(answer.status, 201, answer.text);
  // b1's change came after a1, and before b2: only a1 has not seen it. In its second round it changes nothing.
  assert.deepEqual(paths(), ['/a1', '/a2', '/b1', '/b2', '/a1']);
  assert.deepEqual((answer.body['metadata'] as { labels: object }).labels, {
    own: 'yes',
    a1: 'yes',
    b1: 'yes',
  });
  assert.equal(server.asked[0]?.request.name, 'ordered');
});

test('plugins are asked again after a webhook: a container that it adds has the token of its account', async () => {
  await ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  await configure('mutating', 'sidecar', { rules: [{ ...rule, resources: ['pods'] }] });
  server.answers.set('/sidecar', () => ({
    allowed: true,
    ...patchOf(add('/spec/containers/-', { name: 'sidecar', image: 'i' })),
  }));
  const answer = await ask('POST', '/api/v1/namespaces/default/pods', {
    metadata: { name: 'with-sidecar' },
    spec: { containers: [{ name: 'main', image: 'i' }] },
  });
  assert.equal(answer.status, 201, answer.text);
  const { containers, volumes } = answer.body['spec'] as {
    containers: { name: string; volumeMounts?: { mountPath: string }[]; imagePullPolicy?: string }[];
    volumes: object[];
  };
  assert.deepEqual(
    containers.map(({ name, volumeMounts = [], imagePullPolicy }) => [
      name,
      volumeMounts.map(({ mountPath }) => mountPath),
      imagePullPolicy,
    ]),
    ['main', 'sidecar'].map((name) => [name, ['/var/run/secrets/kubernetes.io/serviceaccount'], 'Always']),
  );
  assert.equal(volumes.length, 1, JSON.stringify(volumes));
  assert.deepEqual(paths(), ['/sidecar']);
});

test('what a webhook makes of an object must be one of its kind, in its place', async () => {
  await configure('mutating', 'odd', {});
  const result = async (name: string, ...operations: readonly object[]): Promise<string> => {
    server.answers.set('/odd', () => ({ allowed: true, ...patchOf(...operations) }));
    const { status, message } = await create(name);
    return `${status} ${message}`;
  };
  assert.equal(
    await result('typed', add('/data', { a: 1 })),
    '500 Internal error occurred: json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
  );
  assert.equal(
    await result('elsewhere', { op: 'replace', path: '/metadata/namespace', value: 'kube-system' }),
    '400 the namespace of the provided object does not match the namespace sent on the request',
  );
  assert.equal(
    await result('gone', { op: 'remove', path: '/data/x' }),
    `500 Internal error occurred: remove operation does not apply: doc is missing path: "/data/x": missing value`,
  );
  assert.match(await result('bad', add('/metadata/labels', { 'a b': 'c' })), /^422 ConfigMap "bad" is inv/);
  assert.match(await result('kind', { op: 'replace', path: '/kind', value: 'Pod' }), /^500 Internal error/);
  assert.equal(await result('unknown', add('/nothing', 1)), '201 ');
  server.answers.clear();
  const stored = await ask('GET', `${configMaps}/unknown`);
  assert.equal(stored.body['nothing'], undefined);
  server.answers.set('/odd', () => ({
    allowed: true,
    ...patchOf({ op: 'replace', path: '/metadata/name', value: 'other' }),
  }));
  const renamed = await ask('PATCH', `${configMaps}/unknown`, { data: { a: 'b' } });
  assert.equal(renamed.status, 422, renamed.text);
  assert.match(renamed.message, /metadata\.name: Invalid value: "other": field is immutable/);
  const deleted = await ask('DELETE', `${configMaps}/unknown`);
  assert.equal(
    deleted.message,
    'Internal error occurred: admission webhook "h0.example.com" attempted to modify the object, which is not supported for this operation',
  );
});

test('selectors, rules and matchPolicy say which requests a webhook is asked about', async () => {
  await ask('POST', '/api/v1/namespaces', { metadata: { name: 'chosen', labels: { hooks: 'on' } } });
  await configure('validating', 'by-namespace', { namespaceSelector: { matchLabels: { hooks: 'on' } } });
  await configure('validating', 'by-object', { objectSelector: { matchLabels: { look: 'here' } } });
  const hpas = { ...rule, apiGroups: ['autoscaling'], apiVersions: ['v1'] };
  const ofHpas = { ...hpas, resources: ['horizontalpodautoscalers'] };
  await configure('validating', 'equivalent', { rules: [ofHpas] });
  await configure('validating', 'exact', { rules: [ofHpas], matchPolicy: 'Exact' });
  const asked = async (method: string, url: string, body?: object): Promise<string[]> => {
    server.asked.splice(0);
    const answer = await ask(method, url, body);
    assert.ok(answer.status < 300, answer.text);
    return paths().sort();
  };
  assert.deepEqual(await asked('POST', configMaps, { metadata: { name: 'plain' } }), []);
  const chosen = '/api/v1/namespaces/chosen/configmaps';
  assert.deepEqual(await asked('POST', chosen, { metadata: { name: 'plain' } }), ['/by-namespace']);
  const look = { metadata: { labels: { look: 'here' } } };
  assert.deepEqual(await asked('PATCH', `${configMaps}/plain`, look), ['/by-object']);
  const away = { metadata: { labels: { look: null } } };
  assert.deepEqual(await asked('PATCH', `${configMaps}/plain`, away), ['/by-object']);
  assert.deepEqual(await asked('PATCH', `${configMaps}/plain`, { data: { a: 'b' } }), []);

  const url = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';
  const scaler = {
    metadata: { name: 'h' },
    spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' } },
  };
  assert.deepEqual(await asked('POST', url, scaler), ['/equivalent']);
  const [{ request }] = server.asked as [(typeof server.asked)[0]];
  const version = (member: string): unknown => (request[member] as { version: string }).version;
  assert.deepEqual(['kind', 'resource', 'requestKind', 'requestResource'].map(version), [
    'v1',
    'v1',
    'v2',
    'v2',
  ]);
  assert.equal((request.object as never as { apiVersion: string }).apiVersion, 'autoscaling/v1');
});

test('subresources and connects are asked about as the objects that they are', async () => {
  await configure('mutating', 'all', { rules: [{ ...rule, apiGroups: ['*'], resources: ['*/*'] }] });
  server.answers.set('/all', ({ request }) =>
    request['subResource'] === 'scale'
      ? { allowed: true, ...patchOf({ op: 'replace', path: '/spec/replicas', value: 7 }) }
      : { allowed: true },
  );
  const labels = { a: 'b' };
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const container = { name: 'c', image: 'i' };
  await ask('POST', deployments, {
    metadata: { name: 'd' },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  });
  const scaled = await ask('PATCH', `${deployments}/d/scale`, { spec: { replicas: 3 } });
  assert.equal(scaled.status, 200, scaled.text);
  assert.deepEqual(scaled.body['spec'], { replicas: 7 });
  const { request } = server.asked.at(-1)!;
  assert.deepEqual(request['kind'], { group: 'autoscaling', version: 'v1', kind: 'Scale' });
  assert.deepEqual(request['resource'], { group: 'apps', version: 'v1', resource: 'deployments' });
  assert.deepEqual([request['subResource'], request['requestSubResource']], ['scale', 'scale']);
  const kindOf = (object: unknown): string => (object as { kind: string }).kind;
  assert.deepEqual([kindOf(request.object), kindOf(request.oldObject)], ['Scale', 'Scale']);

  server.answers.set('/all', () => ({ allowed: false }));
  const streams = 'container=c&stdin=true&stdout=1&command=ls&command=-l';
  const refused = await ask('POST', `/api/v1/namespaces/default/pods/none/exec?${streams}`);
  assert.equal(refused.message, 'admission webhook "h0.example.com" denied the request without explanation');
  const { operation, object, options } = server.asked.at(-1)!.request;
  assert.deepEqual([operation, options], ['CONNECT', null]);
  assert.deepEqual(object, {
    kind: 'PodExecOptions',
    apiVersion: 'v1',
    stdin: true,
    stdout: true,
    container: 'c',
    command: ['ls', '-l'],
  });
});

test('a dry run is told to webhooks without side effects, and to those that have none then', async () => {
  for (const sideEffects of ['None', 'NoneOnDryRun']) {
    await configure('validating', `dry-${sideEffects.toLowerCase()}`, { sideEffects });
    const answer = await ask('POST', `${configMaps}?dryRun=All`, { metadata: { name: 'dry' } });
    assert.equal(answer.status, 201, answer.text);
    const { dryRun, options } = server.asked.at(-1)!.request;
    assert.equal(dryRun, true, sideEffects);
    assert.deepEqual((options as { dryRun: string[] }).dryRun, ['All']);
  }
});

test('options of a deletion are told in one version, whichever they were sent in, and from the query too', async () => {
  await configure('validating', 'deletions', { rules: [{ ...rule, operations: ['DELETE'] }] });
  const told = { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1' };
  const uid = (await ask('POST', configMaps, { metadata: { name: 'goes' } })).body['metadata'] as {
    uid: string;
  };
  const preconditions = { uid: uid.uid };
  const options = { dryRun: ['All'], preconditions };
  const cases: readonly [query: string, body: object | undefined, expected: object][] = [
    ['', { ...options, kind: 'DeleteOptions', apiVersion: 'v1' }, options],
    ['', { ...options, kind: 'DeleteOptions', apiVersion: 'foo/v9', odd: 1 }, options],
    ['', options, options],
    [
      '?dryRun=All&gracePeriodSeconds=0&propagationPolicy=Orphan',
      undefined,
      { dryRun: ['All'], gracePeriodSeconds: 0, propagationPolicy: 'Orphan' },
    ],
    ['', undefined, {}],
  ];
  for (const [query, body, expected] of cases) {
    const answer = await ask('DELETE', `${configMaps}/goes${query}`, body);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(server.asked.at(-1)!.request['options'], { ...told, ...expected });
  }
});

test('webhooks never stand between an administrator and the configurations of webhooks', async () => {
  const everything = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }];
  await configure('validating', 'wall', { rules: everything });
  server.answers.set('/wall', () => ({ allowed: false, status: { reason: 'Forbidden' } }));
  const refused = await create('walled');
  assert.equal(refused.message, 'admission webhook "h0.example.com" denied the request: Forbidden');
  await configure('mutating', 'another', { rules: everything });
  const url = `${registration}/validatingwebhookconfigurations/wall`;
  const dead = { metadata: { labels: { a: 'b' } } };
  assert.equal((await ask('PATCH', url, dead)).status, 200);
  assert.equal((await ask('DELETE', url)).status, 200);
  assert.equal((await create('walled')).status, 201);
});

test('the older review version is spoken with those that know no other', async () => {
  await configure('mutating', 'old', { admissionReviewVersions: ['v0', 'v1beta1', 'v1'] });
  server.answers.set('/old', () => ({
    uid: 'any',
    allowed: true,
    patch: patchOf(add('/data', { a: 'b' })).patch,
  }));
  assert.deepEqual(dataOf(await create('older')), { a: 'b' });
  assert.equal(server.asked[0]?.apiVersion, 'admission.k8s.io/v1beta1');
});

test('warnings of a webhook reach the user; what is asked, refused and let through is counted', async () => {
  await configure('validating', 'warn', { name: 'counted.example.com' });
  server.answers.set('/warn', ({ request }) => ({
    allowed: request.operation === 'CREATE',
    warnings: ['mind the "gap"'],
    auditAnnotations: { key: 'value' },
  }));
  const answer = await create('warned');
  assert.deepEqual(answer.warnings, ['299 - "mind the \\"gap\\""']);
  await ask('DELETE', `${configMaps}/warned`);
  await configure('validating', 'warn-open', {
    name: 'open.example.com',
    failurePolicy: 'Ignore',
    clientConfig: { url: 'https://127.0.0.1:1' },
  });
  await create('warned-again');
  const { text } = await plane.metrics.text();
  const lines = text
    .split('\n')
    .filter((line) => /(counted|open)\.example/.test(line) && !/_bucket|_sum/.test(line));
  const prefix = 'apiserver_admission_webhook_';
  assert.deepEqual(lines.sort(), [
    `${prefix}admission_duration_seconds_count{name="counted.example.com",type="validating",operation="CREATE",rejected="false"} 2`,
    `${prefix}admission_duration_seconds_count{name="counted.example.com",type="validating",operation="DELETE",rejected="true"} 1`,
    `${prefix}admission_duration_seconds_count{name="open.example.com",type="validating",operation="CREATE",rejected="false"} 1`,
    `${prefix}fail_open_count{name="open.example.com",type="validating"} 1`,
    `${prefix}rejection_count{name="counted.example.com",type="validating",operation="DELETE",error_type="no_error",rejection_code="400"} 1`,
    `${prefix}request_total{name="counted.example.com",type="validating",operation="CREATE",code="200",rejected="false"} 2`,
    `${prefix}request_total{name="counted.example.com",type="validating",operation="DELETE",code="400",rejected="true"} 1`,
    `${prefix}request_total{name="open.example.com",type="validating",operation="CREATE",code="503",rejected="false"} 1`,
  ]);
});

test('match conditions say which requests a webhook is asked about; failures count by failurePolicy', async () => {
  const condition = (...expressions: readonly string[]): Hook => ({
    matchConditions: expressions.map((expression, i) => ({ name: `c${i}`, expression })),
  });
  await configure(
    'validating',
    'named',
    condition("request.name.startsWith('yes-')", "request.userInfo.username == 'kubernetes-admin'"),
  );
  await configure('mutating', 'data', condition("object.data.a == 'b'", 'oldObject == null'));
  await configure(
    'validating',
    'may',
    condition("authorizer.group('').resource('secrets').namespace('default').check('get').allowed()"),
  );
  await configure('validating', 'open', {
    ...condition("object.data.nothing == 'x'"),
    failurePolicy: 'Ignore',
  });
  const asked = async (name: string, as?: ReturnType<typeof user>): Promise<string[]> => {
    server.asked.splice(0);
    const body = { metadata: { name }, data: { a: 'b' } };
    const answer = await ask('POST', configMaps, body, as === undefined ? {} : { user: as });
    assert.equal(answer.status, 201, answer.text);
    return paths().sort();
  };
  assert.deepEqual(await asked('yes-1'), ['/data', '/may', '/named']);
  assert.deepEqual(await asked('no-1'), ['/data', '/may']);
  const refused = await create('yes-2');
  assert.deepEqual(
    [refused.status, refused.message],
    [
      403,
      "configmaps \"yes-2\" is forbidden: expression 'object.data.a == 'b'' resulted in error: no such key: data",
    ],
  );
  const url = `${registration}/validatingwebhookconfigurations/named`;
  const bad = await ask(
    'PATCH',
    url,
    [{ op: 'add', path: '/webhooks/0/matchConditions/-', value: { name: 'x', expression: 'request.name' } }],
    {
      contentType: 'application/json-patch+json',
    },
  );
  assert.deepEqual(
    [bad.status, bad.message],
    [
      422,
      'ValidatingWebhookConfiguration.admissionregistration.k8s.io "named" is invalid: webhooks[0].matchConditions[2].expression: Invalid value: "request.name": must evaluate to bool but got string',
    ],
  );
});
