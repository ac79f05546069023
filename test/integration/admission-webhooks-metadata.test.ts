// What webhooks make of metadata, of deletions that race, of connects; and what the audit log is told of their patches.
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { readAuditPolicy } from '../../src/api/audit/policy.ts';
import { policyMatcher } from '../../src/apiserver/audit/audit-rules.ts';
import { yamlToJson } from '../../src/base/yaml.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { streamingStorage } from '../../src/registry/core/streaming-storage.ts';
import { patchOf, startWebhookServer } from '../harness/webhook-server.ts';

const told: { auditID: string; verb: string; annotations?: Record<string, string> | undefined }[] = [];
const rules =
  'rules: [{level: Request, resources: [{group: "", resources: [configmaps]}]}, {level: Metadata}]';
const { policy } = readAuditPolicy(
  `{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], ${rules}}`,
);
const plane = await startTestControlPlane({
  streaming: streamingStorage({
    random: systemRandom,
    isMachine: () => false,
    connection: () => assert.fail('no kubelet is asked'),
  }),
  audit: {
    match: policyMatcher(policy),
    readYaml: yamlToJson,
    backend: {
      process: (events) => {
        told.push(...events);
        return true;
      },
      close: async () => {},
    },
  },
});
const server = await startWebhookServer();
after(async () => {
  await plane.close();
  await server.close();
});
const { ask } = plane;
const configMaps = '/api/v1/namespaces/default/configmaps';
const networkPolicies = '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies';
const made: string[] = [];

async function configure(
  kind: 'mutating' | 'validating',
  operation: string,
  resource: string,
): Promise<void> {
  const url = `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`;
  const rule = { operations: [operation], apiGroups: ['*'], apiVersions: ['*'], resources: [resource] };
  const clientConfig = { url: `${server.url}/hook`, caBundle: server.caBundle };
  const hook = { name: 'h.example.com', clientConfig, rules: [rule], sideEffects: 'None' };
  const answer = await ask('POST', url, {
    metadata: { name: kind },
    webhooks: [{ ...hook, admissionReviewVersions: ['v1'] }],
  });
  assert.equal(answer.status, 201, answer.text);
  made.push(`${url}/${kind}`);
}

const patching = (...operations: readonly object[]): void =>
  void server.answers.set('/hook', () => ({ allowed: true, ...patchOf(...operations) }));

afterEach(async () => {
  for (const url of made.splice(0)) await ask('DELETE', url);
  server.asked.splice(0);
  server.answers.clear();
});

interface Meta {
  readonly uid: string;
  readonly creationTimestamp: string;
  readonly generation?: number;
  readonly resourceVersion: string;
  readonly labels?: object;
  readonly ownerReferences?: readonly object[];
  readonly managedFields?: readonly { manager: string; fieldsV1: { 'f:metadata'?: object } }[];
}
const metaOf = (answer: { body: Record<string, unknown> }): Meta => answer.body['metadata'] as Meta;

test('what the server owns of metadata is as it was after a webhook changed it in an update', async () => {
  const policyOf = (app: string): object => ({
    metadata: { name: 'p' },
    spec: { podSelector: { matchLabels: { app } } },
  });
  const before = metaOf(await ask('POST', networkPolicies, policyOf('a')));
  await configure('mutating', 'UPDATE', 'networkpolicies');
  patching(
    { op: 'remove', path: '/metadata/uid' },
    { op: 'replace', path: '/metadata/creationTimestamp', value: '2001-02-03T04:05:06Z' },
    { op: 'replace', path: '/metadata/generation', value: 99 },
    { op: 'add', path: '/metadata/labels', value: { by: 'webhook' } },
  );
  const answer = await ask('PUT', `${networkPolicies}/p`, policyOf('b'));
  assert.equal(answer.status, 200, answer.text);
  const { uid, creationTimestamp, generation, labels } = metaOf(answer);
  assert.deepEqual(
    { uid, creationTimestamp, generation, labels },
    {
      uid: before.uid,
      creationTimestamp: before.creationTimestamp,
      generation: 2,
      labels: { by: 'webhook' },
    },
  );
  for (const [operation, message] of [
    [
      { op: 'replace', path: '/metadata/uid', value: 'another' },
      'metadata.uid: Invalid value: "another": field is immutable',
    ],
    [
      { op: 'add', path: '/metadata/deletionTimestamp', value: '2001-02-03T04:05:06Z' },
      'metadata.deletionTimestamp: Invalid value: "2001-02-03T04:05:06Z": field is immutable',
    ],
    [
      { op: 'replace', path: '/metadata/name', value: 'q' },
      'metadata.name: Invalid value: "q": field is immutable',
    ],
    [
      { op: 'replace', path: '/metadata/namespace', value: 'kube-system' },
      'the namespace of the provided object does not match the namespace sent on the request',
    ],
    [
      { op: 'add', path: '/metadata/resourceVersion', value: '1' },
      'please apply your changes to the latest version and try again',
    ],
  ] as const) {
    patching(operation);
    const refused = await ask('PUT', `${networkPolicies}/p`, policyOf('c'));
    assert.ok(refused.status >= 400 && refused.message.endsWith(message), refused.text);
  }
});

test('what a webhook changes in an update is nobody’s, and ownership that makes no sense is put back', async () => {
  const map = { metadata: { name: 'owned' }, data: { a: '1' } };
  await ask('POST', `${configMaps}?fieldManager=one`, map);
  await configure('mutating', 'UPDATE', 'configmaps');
  patching({ op: 'add', path: '/metadata/labels', value: { by: 'webhook' } });
  const url = `${configMaps}/owned?fieldManager=two`;
  const changed = await ask('PUT', url, { ...map, data: { a: '2' } });
  assert.equal(changed.status, 200, changed.text);
  const { managedFields = [], labels } = metaOf(changed);
  assert.deepEqual(labels, { by: 'webhook' });
  assert.deepEqual(
    managedFields.map(({ manager, fieldsV1 }) => [manager, fieldsV1]),
    [
      ['one', { 'f:data': {} }],
      ['two', { 'f:data': { 'f:a': {} } }],
    ],
  );
  for (const [entry, why] of [
    [{ operation: 'Sometimes' }, 'operation must be `Apply` or `Update`'],
    [{ operation: 'Update' }, 'apiVersion must not be empty'],
    [{ operation: 'Update', apiVersion: 'v1' }, 'missing fieldsType in managed fields entry 0'],
    [
      { operation: 'Update', apiVersion: 'v1', fieldsType: 'V0' },
      'invalid fieldsType "V0" in managed fields entry 0',
    ],
  ] as const) {
    patching({ op: 'add', path: '/metadata/managedFields', value: [entry] });
    for (const [method, place, name] of [
      ['PUT', url, 'owned'],
      ['PATCH', url, 'owned'],
    ] as const) {
      const kept = await ask(method, place, { metadata: { name }, data: { a: why } });
      assert.deepEqual(
        metaOf(kept).managedFields?.map(({ manager }) => manager),
        ['one', 'two'],
        kept.text,
      );
      assert.match(kept.warnings.join(), /metadata.managedFields was in an invalid state after admission/);
      assert.ok(kept.warnings.join().replaceAll('\\', '').includes(why), kept.warnings.join());
    }
  }
  const own = {
    manager: 'hook',
    operation: 'Update',
    apiVersion: 'v1',
    fieldsType: 'FieldsV1',
    fieldsV1: {},
  };
  patching({ op: 'add', path: '/metadata/managedFields', value: [own] });
  const taken = await ask('PUT', url, { ...map, data: { a: 'own' } });
  assert.deepEqual(
    metaOf(taken).managedFields?.map(({ manager }) => manager),
    ['hook'],
  );
});

test('each owner is there once, whoever named it twice; and none is an event', async () => {
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u1' };
  const other = { ...owner, name: 'p' };
  const sent = { metadata: { name: 'twice', ownerReferences: [owner, other, owner] } };
  const before = await ask('POST', configMaps, sent);
  assert.deepEqual(metaOf(before).ownerReferences, [owner, other]);
  const text = (when: string): string =>
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u1`;
  assert.deepEqual(before.warnings, [`299 - "${text('')}"`]);
  await configure('mutating', 'UPDATE', 'configmaps');
  patching({ op: 'add', path: '/metadata/ownerReferences', value: [owner, owner] });
  const after = await ask('PUT', `${configMaps}/twice`, { metadata: { name: 'twice' } });
  assert.deepEqual(metaOf(after).ownerReferences, [owner]);
  assert.deepEqual(after.warnings, [`299 - "${text(' after mutating admission happens')}"`]);
  patching({ op: 'add', path: '/metadata/ownerReferences', value: [{ ...owner, kind: 'Event', uid: '' }] });
  const refused = await ask('PUT', `${configMaps}/twice`, { metadata: { name: 'twice' } });
  assert.equal(refused.status, 422, refused.text);
  assert.match(refused.message, /ownerReferences\.uid: Invalid value: "": must not be empty/);
  assert.match(refused.message, /\/v1, Kind=Event is disallowed from being an owner/);
});

test('a deletion that another write came before is reviewed once more, with what is deleted then', async () => {
  await ask('POST', configMaps, { metadata: { name: 'raced' }, data: { a: '1' } });
  await configure('validating', 'DELETE', 'configmaps');
  server.answers.set('/hook', async ({ request }) => {
    const { data } = request.oldObject as unknown as { data: { a: string } };
    if (data.a === '1') await ask('PATCH', `${configMaps}/raced`, { data: { a: '2' } });
    return { allowed: data.a === '1' };
  });
  const refused = await ask('DELETE', `${configMaps}/raced`);
  assert.equal(refused.message, 'admission webhook "h.example.com" denied the request without explanation');
  assert.equal(server.asked.length, 2);
  assert.equal((await ask('GET', `${configMaps}/raced`)).status, 200);
});

test('the options of connects are decoded as upstream decodes them, and a webhook may change them', async () => {
  await configure('mutating', 'CONNECT', '*/*');
  server.answers.set('/hook', () => ({ allowed: false }));
  const pod = '/api/v1/namespaces/default/pods/none';
  for (const [url, expected] of [
    [`${pod}/proxy`, { kind: 'PodProxyOptions' }],
    [`${pod}/proxy/`, { kind: 'PodProxyOptions', path: '/' }],
    [`${pod}/proxy/a%20b/%C3%BC/?path=x`, { kind: 'PodProxyOptions', path: '/a b/ü/' }],
    ['/api/v1/nodes/n/proxy/logs%2Fx', { kind: 'NodeProxyOptions', path: '/logs/x' }],
    [`${pod}/attach?stdin=&tty=FALSE&stderr=0`, { kind: 'PodAttachOptions', stdin: true }],
    [`${pod}/portforward?ports=80,81&ports=82`, { kind: 'PodPortForwardOptions', ports: [80, 81, 82] }],
  ] as const) {
    const refused = await ask('GET', url);
    assert.equal(refused.status, 400, refused.text);
    assert.deepEqual(server.asked.at(-1)?.request.object, { apiVersion: 'v1', ...expected }, url);
  }
  for (const [url, message] of [
    [
      `${pod}/portforward?ports=x`,
      'cannot convert to []int32: strconv.ParseUint: parsing "x": invalid syntax',
    ],
    [
      `${pod}/portforward?ports=65536`,
      'cannot convert to []int32: strconv.ParseUint: parsing "65536": value out of range',
    ],
    [`${pod}/exec?command=ls&dryRun=All`, 'dryRun is not supported'],
  ] as const)
    assert.equal((await ask('GET', url)).message, message);

  server.answers.clear();
  await ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  const spec = { containers: [{ name: 'c', image: 'i' }], nodeName: 'n' };
  const created = await ask('POST', '/api/v1/namespaces/default/pods', { metadata: { name: 'x' }, spec });
  assert.equal(created.status, 201, created.text);
  patching({ op: 'replace', path: '/container', value: 'other' });
  const elsewhere = await ask('GET', '/api/v1/namespaces/default/pods/x/exec?container=c&command=ls');
  assert.equal(elsewhere.message, 'container other is not valid for pod x');
});

test('the audit log is told which webhook changed what; how it did where it is told of contents', async () => {
  await configure('mutating', '*', '*');
  patching({ op: 'add', value: { by: 'webhook' }, path: '/metadata/labels' });
  await ask('POST', configMaps, { metadata: { name: 'audited' } });
  await ask('POST', networkPolicies, { metadata: { name: 'audited' }, spec: { podSelector: {} } });
  const annotationsOf = ({ annotations = {} }: (typeof told)[number]): object =>
    Object.fromEntries(Object.entries(annotations).filter(([key]) => key.includes('webhook')));
  const mutation = { configuration: 'mutating', webhook: 'h.example.com', mutated: true };
  const shown = { 'mutation.webhook.admission.k8s.io/round_0_index_0': JSON.stringify(mutation) };
  const [ofMap, ofPolicy] = told.slice(-2).map(annotationsOf);
  assert.deepEqual(ofPolicy, shown);
  assert.deepEqual(ofMap, {
    ...shown,
    'patch.webhook.admission.k8s.io/round_0_index_0':
      '{"configuration":"mutating","webhook":"h.example.com","patch":[{"op":"add","path":"/metadata/labels","value":{"by":"webhook"}}],"patchType":"JSONPatch"}',
  });
});

test('the audit log is told which webhook was not asked in vain, of both kinds', async () => {
  for (const kind of ['mutating', 'validating'] as const) {
    const url = `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`;
    await configure(kind, '*', 'configmaps');
    server.answers.set('/hook', () => (response) => response.writeHead(500).end());
    const ignored = [{ op: 'add', path: '/webhooks/0/failurePolicy', value: 'Ignore' }];
    const contentType = 'application/json-patch+json';
    const changed = await ask('PATCH', `${url}/${kind}`, ignored, { contentType });
    assert.equal(changed.status, 200, changed.text);
  }
  const stored = await ask('POST', configMaps, { metadata: { name: 'unasked' } });
  assert.equal(stored.status, 201, stored.text);
  const { annotations = {} } = told.at(-1)!;
  const failedOpen = Object.entries(annotations).filter(([key]) => key.startsWith('failed-open.'));
  assert.deepEqual(Object.fromEntries(failedOpen), {
    'failed-open.mutation.webhook.admission.k8s.io/round_0_index_0': 'h.example.com',
    'failed-open.validating.webhook.admission.k8s.io/round_0_index_0': 'h.example.com',
  });
});
