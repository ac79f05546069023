// The audit log of a real API server: which requests, at which stages, with what of them, as audit.k8s.io/v1 says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventLine } from '../../src/api/audit/event.ts';
import { readAuditPolicy } from '../../src/api/audit/policy.ts';
import { policyMatcher } from '../../src/apiserver/audit/audit-rules.ts';
import type { AuditBackend } from '../../src/apiserver/audit/backend.ts';
import { admin, startTestServer, type TestServerOptions } from '../../src/apiserver/testing/test-server.ts';
import { yamlToJson } from '../../src/base/yaml.ts';
import { createMetrics } from '../../src/component-base/metrics.ts';

interface Told {
  level: string;
  stage: string;
  verb: string;
  requestURI: string;
  auditID: string;
  user: { username?: string; groups?: string[] };
  impersonatedUser?: { username?: string };
  sourceIPs: string[];
  userAgent?: string;
  objectRef?: Record<string, string>;
  responseStatus?: { metadata: object; status?: string; reason?: string; message?: string; code: number };
  requestObject?: { kind?: string; metadata?: Record<string, unknown>; data?: Record<string, string> };
  responseObject?: { kind?: string; metadata?: Record<string, unknown>; items?: { metadata: object }[] };
  annotations?: Record<string, string>;
}

async function audited(rules: string, options: TestServerOptions = {}, kept: () => boolean = () => true) {
  const told: Told[] = [];
  const lines: string[] = [];
  const backend: AuditBackend = {
    process(events) {
      for (const event of events) {
        lines.push(eventLine(event));
        told.push(JSON.parse(lines.at(-1)!));
      }
      return kept();
    },
    close: async () => {},
  };
  const { policy } = readAuditPolicy(`{apiVersion: audit.k8s.io/v1, kind: Policy, ${rules}}`);
  const server = await startTestServer({
    audit: { match: policyMatcher(policy), backend, readYaml: yamlToJson },
    ...options,
  });
  return { server, told, lines };
}

const maps = '/api/v1/namespaces/default/configmaps';
const map = (name: string, more: object = {}): object => ({
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { name },
  data: { key: 'value' },
  ...more,
});

test('a write is told when it comes and when it is answered, without what is in it', async () => {
  const { server, told } = await audited('rules: [{level: Metadata}]');
  const headers = { 'user-agent': 'kubectl/v1.36', 'x-forwarded-for': '10.1.2.3, nonsense' };
  const answer = await server.request('POST', maps, map('a'), { headers });
  assert.equal(answer.status, 201);
  assert.deepEqual(
    told.map((e) => [e.stage, e.responseStatus]),
    [
      ['RequestReceived', undefined],
      ['ResponseComplete', { metadata: {}, code: 201 }],
    ],
  );
  const { stage, requestReceivedTimestamp, stageTimestamp, ...event } = told[1] as Told &
    Record<string, string>;
  assert.match(requestReceivedTimestamp!, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  assert.ok(stageTimestamp! >= requestReceivedTimestamp!);
  assert.deepEqual(event, {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: answer.headers['audit-id'],
    requestURI: maps,
    verb: 'create',
    user: { username: 'admin', groups: ['system:masters', 'system:authenticated'] },
    sourceIPs: ['10.1.2.3', '127.0.0.1'],
    userAgent: 'kubectl/v1.36',
    objectRef: { resource: 'configmaps', namespace: 'default', name: 'a', apiVersion: 'v1' },
    responseStatus: { metadata: {}, code: 201 },
    annotations: { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': '' },
  });
  await server.close();
});

test('who still asks for what is deprecated is told, by the log and by the metrics', async () => {
  const { server, told } = await audited('omitStages: [RequestReceived], rules: [{level: Metadata}]');
  await server.request('GET', '/api/v1/namespaces/default/endpoints');
  await server.request('GET', '/api/v1/namespaces/default/endpoints/a/fish');
  await server.request('GET', maps);
  assert.deepEqual(
    told.map((event) => event.annotations?.['k8s.io/deprecated']),
    ['true', 'true', undefined],
  );
  const { text } = await server.request('GET', '/metrics');
  assert.deepEqual(text.match(/^apiserver_requested_deprecated_apis.*$/gm), [
    'apiserver_requested_deprecated_apis{group="",version="v1",resource="endpoints",subresource="",removed_release=""} 1',
  ]);
  await server.close();
});

test('Request shows what was sent, RequestResponse the answer too, in every form it is sent in', async () => {
  const { server, told } = await audited(
    'omitStages: [RequestReceived], rules: [{level: Request, verbs: [create, patch, delete]}, {level: RequestResponse}]',
  );
  await server.request('POST', maps, map('a'));
  const patch = '{\n  "data": {\n\t"b": "c\\n"\n  }\n}';
  await server.request('PATCH', `${maps}/a`, patch, {
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  await server.request('GET', `${maps}/a`);
  await server.request('GET', maps, undefined, {
    headers: { accept: 'application/vnd.kubernetes.protobuf' },
  });
  await server.request('GET', `${maps}/a`, undefined, { headers: { accept: 'application/yaml' } });
  await server.request('GET', maps, undefined, {
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  });
  await server.request('DELETE', `${maps}/a`, {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    gracePeriodSeconds: 0,
  });
  const [created, patched, got, list, yaml, table, deleted] = told;
  assert.equal(created!.requestObject?.data?.['key'], 'value');
  assert.equal(created!.responseObject, undefined);
  assert.deepEqual(patched!.requestObject, { data: { b: 'c\n' } });
  assert.equal(got!.requestObject, undefined);
  assert.equal(got!.responseObject?.kind, 'ConfigMap');
  assert.equal(list!.responseObject?.kind, 'ConfigMapList');
  assert.equal(list!.responseObject?.items?.length, 1);
  assert.deepEqual(yaml!.responseObject, got!.responseObject);
  assert.equal(table!.responseObject?.kind, 'Table');
  assert.equal(deleted!.requestObject?.kind, 'DeleteOptions');
  assert.equal(deleted!.responseStatus?.status, 'Success');
  await server.close();
});

test('managed fields are left out of objects and of lists where the policy says so', async () => {
  const { server, told } = await audited(
    'omitManagedFields: true, omitStages: [RequestReceived], rules: [{level: RequestResponse}]',
  );
  await server.request('POST', maps, map('a'));
  const stored = (await server.request('GET', maps)).json();
  assert.ok(JSON.stringify(stored).includes('managedFields'));
  assert.equal(told[1]!.responseObject?.items?.length, 1);
  assert.ok(!JSON.stringify(told).includes('managedFields'));
  await server.close();
});

test('the first rule that matches decides; None leaves no trace', async () => {
  const { server, told } = await audited(`omitStages: [RequestReceived], rules: [
    {level: None, users: [system:kube-proxy]},
    {level: None, nonResourceURLs: ['/healthz*', /version]},
    {level: Metadata, resources: [{group: '', resources: [secrets, pods/log]}]},
    {level: None, namespaces: [quiet]},
    {level: Request}]`);
  const proxy = { user: { name: 'system:kube-proxy', groups: ['system:masters'] } };
  await server.request('GET', maps, undefined, proxy);
  await server.request('GET', '/healthz');
  await server.request('GET', '/version');
  await server.request('GET', '/api/v1/namespaces/quiet/configmaps');
  assert.equal(told.length, 0);
  const secret = {
    kind: 'Secret',
    apiVersion: 'v1',
    metadata: { name: 's' },
    data: { password: 'aHVudGVyMg==' },
  };
  await server.request('POST', '/api/v1/namespaces/quiet/secrets', secret);
  await server.request('POST', maps, map('a'));
  assert.deepEqual(
    told.map((e) => [e.level, e.objectRef?.['resource'], e.requestObject !== undefined]),
    [
      ['Metadata', 'secrets', false],
      ['Request', 'configmaps', true],
    ],
  );
  assert.ok(!JSON.stringify(told).includes('aHVudGVyMg'));
  await server.close();
});

test('a refusal is told with its reason, and who was refused', async () => {
  const { server, told } = await audited('omitStages: [RequestReceived], rules: [{level: Metadata}]');
  await server.request('GET', `${maps}/missing`);
  await server.request('GET', maps, undefined, { user: { name: 'eve', groups: ['system:authenticated'] } });
  const [missing, forbidden] = told;
  assert.deepEqual(
    [missing!.responseStatus?.code, missing!.responseStatus?.reason, missing!.responseStatus?.status],
    [404, 'NotFound', 'Failure'],
  );
  assert.deepEqual([forbidden!.user.username, forbidden!.responseStatus?.code], ['eve', 403]);
  assert.equal(forbidden!.annotations?.['authorization.k8s.io/decision'], 'forbid');
  await server.close();
});

test('wrong credentials are told before the answer goes out', async () => {
  const { server, told } = await audited('rules: [{level: Metadata}]', { allowAnonymous: false });
  const answer = await server.request('GET', maps, undefined, { user: undefined });
  assert.equal(answer.status, 401);
  assert.deepEqual(
    told.map((e) => [e.stage, e.user, e.responseStatus?.code, e.responseStatus?.reason]),
    [['ResponseStarted', {}, 401, 'Unauthorized']],
  );
  await server.close();
});

test('who acts as somebody else is told as both', async () => {
  const { server, told } = await audited('omitStages: [RequestReceived], rules: [{level: Metadata}]');
  await server.request('GET', maps, undefined, { headers: { 'impersonate-user': 'bob' } });
  assert.deepEqual([told[0]!.user.username, told[0]!.impersonatedUser?.username], ['admin', 'bob']);
  await server.close();
});

test('a watch is told when it begins and when it ends', async () => {
  const { server, told } = await audited('rules: [{level: RequestResponse}]');
  const { body } = await server.handle('GET', `${maps}?watch=1`);
  assert.deepEqual(
    told.map((e) => [e.stage, e.verb, e.responseStatus?.code]),
    [
      ['RequestReceived', 'watch', undefined],
      ['ResponseStarted', 'watch', 200],
    ],
  );
  assert.ok(body !== undefined && 'close' in body);
  body.close();
  body.close();
  assert.deepEqual(
    told.slice(2).map((e) => [e.stage, e.responseStatus?.code]),
    [['ResponseComplete', 200]],
  );
  await server.close();
});

test('an event that must be kept and is not refuses its request before anything is done', async () => {
  let full = true;
  const metrics = createMetrics();
  const { server } = await audited('rules: [{level: Metadata}]', { metrics }, () => !full);
  const refused = await server.request('POST', maps, map('a'));
  assert.equal(refused.status, 500);
  assert.equal(refused.text, `Internal Server Error: "${maps}": failed to store audit event\n`);
  full = false;
  assert.equal((await server.request('GET', `${maps}/a`)).status, 404);
  const { text } = await metrics.text();
  assert.match(text, /^apiserver_audit_requests_rejected_total 1$/m);
  assert.match(text, /^apiserver_audit_event_total 3$/m);
  assert.match(text, /^apiserver_audit_level_total\{level="Metadata"\} 2$/m);
  await server.close();
});

test('what nobody foresaw is told as a panic', async () => {
  const { server, told } = await audited('omitStages: [RequestReceived], rules: [{level: Metadata}]', {
    authorizer: {
      authorize: () => {
        throw new TypeError('nobody foresaw this');
      },
    },
  });
  assert.equal((await server.request('GET', maps)).status, 500);
  assert.deepEqual(
    told.map((e) => [e.stage, e.responseStatus?.code, e.responseStatus?.message]),
    [['Panic', 500, "APIServer panic'd: nobody foresaw this"]],
  );
  await server.close();
});

test('whatever a client sends, an event is one line', async () => {
  const { server, told, lines } = await audited('rules: [{level: RequestResponse}]');
  const agent = 'a\r\n{"kind":"Event","user":{"username":"forged"}}\n';
  const forged = 'x\r\n{"kind":"Event"}\u2028';
  const body = JSON.stringify(map('a', { data: { a: forged } }), undefined, 2).replaceAll('\n', '\r\n');
  await server.request('POST', `${maps}?x=%0a%0d"`, body, {
    headers: { 'user-agent': agent, 'x-forwarded-for': '1.1.1.1\n2.2.2.2' },
  });
  await server.request('GET', `${maps}/a`, undefined, {
    headers: { 'user-agent': `curl/8${'x'.repeat(2_000)}` },
  });
  for (const line of lines) assert.doesNotMatch(line, /[\n\r]/);
  const created = told.find((e) => e.verb === 'create' && e.stage === 'ResponseComplete')!;
  assert.equal(created.userAgent, agent);
  assert.equal(created.requestObject?.data?.['a'], forged);
  assert.deepEqual(created.sourceIPs, ['127.0.0.1']);
  const got = told.find((e) => e.verb === 'get')!;
  assert.equal(got.userAgent?.length, 1024 + '...TRUNCATED'.length);
  await server.close();
});

test('what was told to have come too late is not written afterwards: the log does not say what was in it', async () => {
  const judged = Promise.withResolvers<void>();
  const asked: string[] = [];
  const { server, told } = await audited('rules: [{level: Request, resources: [{group: ""}]}]', {
    admission: [
      {
        name: 'Slow',
        operations: ['CREATE', 'UPDATE', 'DELETE'],
        validate: async ({ operation, name }) => {
          if (name === 'kept') return;
          asked.push(`${operation} ${name}`);
          await judged.promise;
        },
      },
    ],
  });
  await server.request('POST', maps, map('kept'));
  const slow = Promise.withResolvers<Buffer>();
  const signal = new AbortController().signal;
  const late = (method: string, url: string, readBody: () => Promise<Buffer>): Promise<{ status: number }> =>
    server.api.handle({
      method,
      url: `${url}?timeout=20ms`,
      headers: {},
      readBody,
      signal,
      user: admin,
      remoteAddress: '',
    });
  const body = (name: string): Buffer => Buffer.from(JSON.stringify(map(name)));
  const answers = await Promise.all([
    late('POST', maps, async () => body('judged')),
    late('POST', maps, () => slow.promise),
    late('DELETE', `${maps}/kept`, () => slow.promise.then(() => Buffer.alloc(0))),
  ]);
  for (const { status } of answers) assert.equal(status, 504);
  assert.deepEqual(asked, ['CREATE judged']);
  slow.resolve(body('read'));
  judged.resolve();
  await server.request('POST', maps, map('after'));
  for (const [name, status] of Object.entries({ judged: 404, read: 404, kept: 200 }))
    assert.equal((await server.request('GET', `${maps}/${name}`)).status, status, name);
  assert.deepEqual(
    told.filter(({ responseStatus }) => responseStatus?.code === 504).map(({ stage }) => stage),
    Array(3).fill('ResponseComplete'),
  );
  await server.close();
});
