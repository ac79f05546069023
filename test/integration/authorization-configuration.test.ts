// Authorization as a file says: webhooks before and after RBAC, their conditions, failures and caches.
import assert from 'node:assert/strict';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, test } from 'node:test';
import type { UserInfo } from '../../src/apiserver/authentication/user-info.ts';
import { loadKubeconfig } from '../../src/client/kubeconfig.ts';
import { startServer } from '../../src/cmd/compose/compose-server.ts';
import { configuredAuthorization } from '../../src/cmd/compose/configured-authorization.ts';
import { type Logger, silentLogger } from '../../src/component-base/logger.ts';
import { createMetrics } from '../../src/component-base/metrics.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import {
  startTestControlPlane,
  type TestControlPlane,
  user,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { sha256Hex } from '../../src/crypto/digests.ts';
import { HttpsClient } from '../../src/wire/https-client.ts';
import { eventually } from '../harness/eventually.ts';
import { startHttpsService } from '../harness/https-service.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const { path: folder, remove } = scratchDirectory('authorization');
after(remove);

interface Spec {
  readonly user: string;
  readonly groups: readonly string[];
  readonly resourceAttributes?: Readonly<Record<string, unknown>>;
}
const seen: Spec[] = [];
const answers: Readonly<Record<string, object>> = {
  allowed: { allowed: true },
  denied: { denied: true, reason: 'not today' },
  both: { allowed: true, denied: true },
  half: { allowed: true },
};
const service = await startHttpsService((_, __, body) => {
  const { spec } = body as { spec: Spec };
  seen.push(spec);
  const { verb } = spec.resourceAttributes ?? {};
  if (spec.user === 'broken' || (spec.user === 'half' && verb === 'create'))
    return { status: 503, body: 'down' };
  if (spec.user === 'moved') return { status: 307, headers: { location: 'https://127.0.0.1:1/' }, body: {} };
  return { body: { status: answers[spec.user] ?? { allowed: false } } };
});
after(() => service.close());

let files = 0;
function fileOf(content: object): string {
  const file = join(folder, `${files++}.yaml`);
  writeFileSync(file, JSON.stringify(content));
  return file;
}
const kubeConfigFile = fileOf({
  'current-context': 'c',
  contexts: [{ name: 'c', context: { cluster: 's' } }],
  clusters: [
    {
      name: 's',
      cluster: {
        server: `${service.url}/authorize`,
        'certificate-authority-data': Buffer.from(service.caPem).toString('base64'),
      },
    },
  ],
});
const webhook = (more: object = {}): object => ({
  type: 'Webhook',
  name: 'hook',
  webhook: {
    timeout: '3s',
    subjectAccessReviewVersion: 'v1',
    matchConditionSubjectAccessReviewVersion: 'v1',
    failurePolicy: 'Deny',
    connectionInfo: { type: 'KubeConfigFile', kubeConfigFile },
    ...more,
  },
});
const configuration = (...authorizers: object[]): string =>
  fileOf({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthorizationConfiguration', authorizers });
const rbac = { type: 'RBAC', name: 'rbac' };
const open = { type: 'AlwaysAllow', name: 'alwaysallow' };

const deps = { clock: systemClock, log: silentLogger, defer: (stop: () => void) => after(stop) };

async function planeWith(...authorizers: object[]): Promise<TestControlPlane> {
  const made = await configuredAuthorization({ authorizationConfig: configuration(...authorizers) }, deps);
  const plane = await startTestControlPlane({ authorizers: made });
  after(() => plane.close());
  return plane;
}

const list = async (plane: TestControlPlane, name: string, what = 'configmaps'): Promise<string> => {
  const answer = await plane.ask('GET', `/api/v1/namespaces/default/${what}`, undefined, {
    user: user(name),
  });
  return answer.status === 200 ? 'allowed' : `${answer.status} ${answer.message || answer.text}`;
};

test('a webhook decides before RBAC; what it does not know is asked further', async () => {
  const plane = await planeWith(webhook(), rbac);
  assert.equal(await list(plane, 'allowed'), 'allowed');
  assert.match(await list(plane, 'denied'), /^403 .*cannot list resource "configmaps".*: not today$/);
  assert.equal(
    await list(plane, 'both'),
    '500 Internal Server Error: "/api/v1/namespaces/default/configmaps": webhook subject access review returned both allow and deny response\n',
  );
  assert.match(await list(plane, 'stranger'), /^403/);
  await plane.ask('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'view' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'stranger' }],
  });
  assert.equal(await list(plane, 'stranger'), 'allowed');
  const review = await plane.ask('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    spec: { user: 'denied', resourceAttributes: { verb: 'list', resource: 'configmaps' } },
  });
  assert.deepEqual(review.body.status, { allowed: false, denied: true, reason: 'not today' });
  const both = await plane.ask('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    spec: { user: 'both', resourceAttributes: { verb: 'list', resource: 'configmaps' } },
  });
  assert.deepEqual(both.body.status, {
    allowed: false,
    denied: true,
    evaluationError: 'webhook subject access review returned both allow and deny response',
  });
});

test('what it said is kept; administrators are never asked about', async () => {
  const plane = await planeWith(webhook());
  seen.length = 0;
  for (let i = 0; i < 3; i++) assert.equal(await list(plane, 'allowed'), 'allowed');
  assert.equal(seen.length, 1);
  assert.deepEqual(seen[0], {
    resourceAttributes: {
      namespace: 'default',
      verb: 'list',
      group: '',
      version: 'v1',
      resource: 'configmaps',
      subresource: '',
      name: '',
    },
    user: 'allowed',
    groups: ['system:authenticated'],
    uid: '',
    extra: {},
  });
  assert.equal((await plane.ask('GET', '/api/v1/nodes')).status, 200);
  assert.equal(seen.length, 1);
});

test('a webhook that cannot be asked does as its policy says', async () => {
  const closed = await planeWith(webhook(), open);
  const opened = await planeWith(webhook({ failurePolicy: 'NoOpinion' }), open);
  const alone = await planeWith(webhook({ failurePolicy: 'NoOpinion' }), rbac);
  for (const name of ['broken', 'moved']) {
    assert.match(await list(closed, name), /^500 Internal Server Error: .*: status (503|307)\n$/, name);
    // Nobody else knows either.
    assert.match(await list(alone, name), /^500 Internal Server Error: .*: status (503|307)\n$/, name);
    assert.equal(await list(opened, name), 'allowed', name);
  }
});

test('who is asked a second time, as for an upgrade, and fails, is told as a fault as well', async () => {
  const { controlPlane } = await planeWith(webhook(), rbac);
  const exec = (upgrade: boolean) =>
    controlPlane.handle({
      method: 'GET',
      url: '/api/v1/namespaces/default/pods/web/exec?command=id',
      headers: upgrade ? { connection: 'Upgrade', upgrade: 'websocket' } : {},
      readBody: async () => Buffer.alloc(0),
      signal: new AbortController().signal,
      remoteAddress: '192.0.2.7',
      user: user('half'),
      ...(upgrade ? { upgrade: { socket: new PassThrough(), head: Buffer.alloc(0) } } : {}),
    });
  assert.notEqual((await exec(false)).status, 500);
  const { status, body } = await exec(true);
  assert.equal(status, 500);
  assert.match(String(body), /^Internal Server Error: .*: status 503\n$/);
});

test('what webhooks do is counted: tries, how long they took, and whom they let pass unasked', async () => {
  const metrics = createMetrics();
  const conditions = [
    { expression: "request.user != 'spared'" },
    { expression: "request.uid != 'x' || request.nope == 1" },
  ];
  const authorizers = await configuredAuthorization(
    {
      authorizationConfig: configuration(
        webhook({ failurePolicy: 'NoOpinion', matchConditions: conditions }),
        open,
      ),
    },
    { ...deps, metrics },
  );
  const plane = await startTestControlPlane({ authorizers, metrics });
  after(() => plane.close());
  for (const name of ['allowed', 'denied', 'broken', 'spared']) await list(plane, name);
  await plane.ask('GET', '/api/v1/namespaces/default/configmaps', undefined, {
    user: { ...user('odd'), uid: 'x' },
  });
  const { text } = await metrics.text();
  const count = (name: string, labels: string): number =>
    Number(new RegExp(`^apiserver_authorization_${name}\\{${labels}\\} (\\d+)$`, 'm').exec(text)?.[1] ?? -1);
  assert.equal(count('webhook_evaluations_total', 'name="hook",result="success"'), 2);
  assert.equal(count('webhook_evaluations_total', 'name="hook",result="error"'), 1);
  assert.equal(count('webhook_duration_seconds_count', 'name="hook",result="success"'), 2);
  assert.equal(count('webhook_evaluations_fail_open_total', 'name="hook",result="error"'), 1);
  assert.equal(count('match_condition_evaluation_seconds_count', 'name="hook",type="Webhook"'), 5);
  assert.equal(count('match_condition_exclusions_total', 'name="hook",type="Webhook"'), 1);
  assert.match(text, /^authorization_attempts_total\{result="denied"\} 1$/m);
  assert.equal(count('match_condition_evaluation_errors_total', 'name="hook",type="Webhook"'), 1);
});

test('it is asked when all conditions hold; one that fails counts as the webhook’s failure', async () => {
  const conditions = (...expressions: string[]): object =>
    webhook({ matchConditions: expressions.map((expression) => ({ expression })) });
  const secrets = await planeWith(
    conditions('has(request.resourceAttributes)', "request.resourceAttributes.resource == 'secrets'"),
    open,
  );
  seen.length = 0;
  assert.equal(await list(secrets, 'denied'), 'allowed');
  assert.equal(seen.length, 0);
  assert.match(await list(secrets, 'denied', 'secrets'), /^403/);
  const failing = await planeWith(conditions("request.nope == 'x'"), open);
  assert.match(await list(failing, 'allowed'), /^500 Internal Server Error: .*no such key: nope/);
});

test('files that cannot be followed are refused with what is wrong', async () => {
  const cases: readonly (readonly [object[], RegExp])[] = [
    [[], /authorizers: Required value: at least one authorization mode must be defined/],
    [[rbac, { ...rbac, name: 'b' }], /authorizers\[1\]\.type: Duplicate value: "RBAC"/],
    [[{ type: 'RBAC', name: 'R!' }], /authorizer name is invalid/],
    [
      [{ type: 'Webhook', name: 'w' }],
      /authorizers\[0\]\.webhook: Required value: required when type=Webhook/,
    ],
    [[webhook({ timeout: '31s' })], /must be > 0s and <= 30s/],
    [
      [webhook({ failurePolicy: 'Ignore' })],
      /Unsupported value: "Ignore": supported values: "NoOpinion", "Deny"/,
    ],
    [[webhook({ matchConditions: [{ expression: 'request.' }] })], /compilation failed: ERROR/],
    [[webhook({ matchConditions: [{ expression: "'x'" }] })], /must evaluate to bool/],
    [[{ ...rbac, name: 'roles' }], /^Error: [^:]+: expected name rbac for authorizer RBAC instead of roles$/],
    [[{ type: 'ABAC', name: 'abac' }], /authorization-mode ABAC's authorization policy file not passed/],
    [
      [webhook({ connectionInfo: { type: 'InClusterConfig' } })],
      /InClusterConfig asks kube-apiserver itself: this mode is not allowed for it/,
    ],
    [
      [webhook({ connectionInfo: { type: 'InClusterConfig', kubeConfigFile } })],
      /connectionInfo\.kubeConfigFile: Invalid value: ".+": can only be set when type=KubeConfigFile/,
    ],
    [
      [webhook({ connectionInfo: { type: 'Both' } })],
      /connectionInfo\.type: Unsupported value: \{"Type":"Both","KubeConfigFile":null\}: supported values: "InClusterConfig", "KubeConfigFile"/,
    ],
    [[webhook({ retries: 'x' })], /unknown field "authorizers\[0\]\.webhook\.retries"/],
  ];
  for (const [authorizers, why] of cases)
    await assert.rejects(
      configuredAuthorization({ authorizationConfig: configuration(...authorizers) }, deps),
      why,
    );
  assert.equal(await configuredAuthorization({}, deps), undefined);
});

test('flags that do not go together are refused', async () => {
  const authorizationWebhookConfigFile = kubeConfigFile;
  const without = /^Error: cannot specify --authorization-webhook-config-file without mode Webhook$/;
  await assert.rejects(configuredAuthorization({ authorizationWebhookConfigFile }, deps), without);
  await assert.rejects(
    configuredAuthorization({ authorizationMode: ['Node', 'RBAC'], authorizationWebhookConfigFile }, deps),
    without,
  );
  await assert.rejects(
    configuredAuthorization({ authorizationMode: ['RBAC', 'RBAC'] }, deps),
    /^Error: authorization-mode \["RBAC" "RBAC"\] has mode specified more than once$/,
  );
  await assert.rejects(
    configuredAuthorization({ authorizationMode: [] }, deps),
    /^Error: at least one authorization-mode must be passed$/,
  );
});

test('nobody is administrator without a name: --anonymous-auth does nothing beside AlwaysAllow', async () => {
  const warnings: string[] = [];
  const log: Logger = {
    ...silentLogger,
    warn: (_: unknown, text?: string) => void warnings.push(text ?? ''),
    child: () => log,
  };
  const scratch = scratchDirectory('anonymous');
  const server = await startServer({
    dataDir: join(scratch.path, 'data'),
    securePort: 0,
    bindAddress: '127.0.0.1',
    log,
    authentication: { anonymousAuth: 'true' },
    authorization: { authorizationMode: ['AlwaysAllow'] },
  });
  const client = new HttpsClient({ maxAnswerBytes: 1 << 20, maxConnections: 1, maxAllConnections: 1 });
  after(async () => {
    client.close();
    await server.stop();
    scratch.remove();
  });
  const { transport } = await loadKubeconfig(server.adminKubeconfig, readFile);
  const answer = await client.ask(
    { host: '127.0.0.1', port: server.port, ca: String(transport.ca) },
    {
      method: 'GET',
      path: '/api/v1/secrets',
      headers: {},
      body: Buffer.alloc(0),
      signal: AbortSignal.timeout(10_000),
    },
  );
  assert.equal(answer.status, 401);
  assert.ok(warnings.some((text) => text.startsWith('AnonymousAuth is not allowed with the AlwaysAllow')));
});

test('the file is read again while the server runs; a bad one changes nothing, and it is counted', async () => {
  const file = configuration(webhook(), rbac);
  const replace = (content: string): void => {
    writeFileSync(`${file}.new`, content);
    renameSync(`${file}.new`, file);
  };
  const metrics = createMetrics();
  const told: string[] = [];
  const log: Logger = {
    ...silentLogger,
    error: (fields: object) =>
      void told.push((fields as { error: string }).error.replace(/.*(AuthorizationConfiguration).*/, '$1')),
  };
  const text = async (): Promise<string> => (await metrics.text()).text;
  const authorizers = await configuredAuthorization(
    { authorizationConfig: file },
    { ...deps, log, metrics, serverId: 'me', everyMs: 5 },
  );
  const reloading = await startTestControlPlane({ authorizers, metrics });
  after(() => reloading.close());
  assert.match(await list(reloading, 'denied'), /^403/);
  const wider = readFileSync(configuration(rbac, open), 'utf8');
  replace(wider);
  await eventually(async () => assert.equal(await list(reloading, 'denied'), 'allowed'));
  const reloads = (status: string, times: number): RegExp =>
    new RegExp(
      `^apiserver_authorization_config_controller_automatic_reloads_total\\{apiserver_id_hash="sha256:[0-9a-f]{64}",status="${status}"\\} ${times}$`,
      'm',
    );
  replace('apiVersion: nothing');
  await eventually(async () => assert.match(await text(), reloads('failure', 1)));
  // What there was at the start has to stay, and what was not there can't come.
  replace(readFileSync(configuration(open), 'utf8'));
  await eventually(async () => assert.match(await text(), reloads('failure', 2)));
  replace(readFileSync(configuration(rbac, { type: 'Node', name: 'node' }), 'utf8'));
  await eventually(async () => assert.match(await text(), reloads('failure', 3)));
  assert.deepEqual(told, [
    'AuthorizationConfiguration',
    'missing required types: [RBAC]',
    'authorizer type Node is not allowed if it was not enabled at initial server startup',
  ]);
  assert.match(await text(), reloads('success', 1));
  const info = /^apiserver_authorization_config_controller_last_config_info\{.*hash="sha256:(\w+)"\} 1$/m;
  assert.equal(info.exec(await text())?.[1], sha256Hex(wider));
  assert.equal(await list(reloading, 'denied'), 'allowed');
  // A file that is away is told, too.
  rmSync(file);
  await eventually(() => assert.ok(told.some((one) => one.startsWith('ENOENT'))));
  assert.equal(await list(reloading, 'denied'), 'allowed');
  replace(readFileSync(configuration(rbac), 'utf8'));
  await eventually(async () => assert.match(await list(reloading, 'allowed'), /^403/));
  const decisions =
    /^apiserver_authorization_decisions_total\{decision="(\w+)",name="(\w+)",type="(\w+)"\} (\d+)$/gm;
  const counted = [...(await text()).matchAll(decisions)].map(([, ...parts]) => parts);
  const of = (...key: string[]): number =>
    Number(counted.find((parts) => key.every((part, i) => parts[i] === part))?.[3] ?? 0);
  assert.ok(of('denied', 'hook', 'Webhook') > 0);
  assert.ok(of('allowed', 'alwaysallow', 'AlwaysAllow') > 1);
});

test('what changes while the file is first made use of is seen, too, and not told as what holds before', async () => {
  const file = configuration(rbac);
  const metrics = createMetrics();
  const made = configuredAuthorization(
    { authorizationConfig: file },
    { ...deps, metrics, serverId: 'me', everyMs: 50 },
  );
  const second = readFileSync(configuration(rbac, open), 'utf8');
  writeFileSync(file, second);
  const authorizers = await made;
  const digest = async (): Promise<string | undefined> =>
    /^apiserver_authorization_config_controller_last_config_info\{.*hash="sha256:(\w+)"\} 1$/m.exec(
      (await metrics.text()).text,
    )?.[1];
  const changing = await startTestControlPlane({ authorizers, metrics });
  after(() => changing.close());
  await eventually(async () => assert.equal(await list(changing, 'anybody'), 'allowed'));
  assert.equal(await digest(), sha256Hex(second));
});

test('a webhook is told what a request’s selectors ask for, and a review may say them', async () => {
  const plane = await planeWith(
    webhook({
      matchConditions: [
        {
          expression:
            "has(request.resourceAttributes) && has(request.resourceAttributes.labelSelector) && request.resourceAttributes.labelSelector.requirements.exists(r, r.key == 'app')",
        },
      ],
    }),
  );
  seen.length = 0;
  const selectors =
    'labelSelector=app+in+(a,b),tier!%3Dx,!gone,here,num%3E5&fieldSelector=metadata.name%3Dm,metadata.namespace!%3Dx';
  assert.equal(await list(plane, 'allowed', `configmaps?${selectors}`), 'allowed');
  const asked = {
    fieldSelector: {
      requirements: [
        { key: 'metadata.name', operator: 'In', values: ['m'] },
        { key: 'metadata.namespace', operator: 'NotIn', values: ['x'] },
      ],
    },
    labelSelector: {
      requirements: [
        { key: 'app', operator: 'In', values: ['a', 'b'] },
        { key: 'tier', operator: 'NotIn', values: ['x'] },
        { key: 'gone', operator: 'DoesNotExist' },
        { key: 'here', operator: 'Exists' },
      ],
    },
  };
  const told = (): object => {
    const { fieldSelector, labelSelector } = seen.at(-1)?.resourceAttributes ?? {};
    return { fieldSelector, labelSelector };
  };
  assert.deepEqual(told(), asked);
  assert.match(await list(plane, 'allowed'), /^403/, 'the condition asks for a selector');

  const review = async (attributes: object) =>
    plane.ask('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      spec: { user: 'allowed', resourceAttributes: { verb: 'list', resource: 'configmaps', ...attributes } },
    });
  assert.deepEqual((await review(asked)).body.status, { allowed: true });
  assert.deepEqual(told(), asked);
  const raw = { fieldSelector: { rawSelector: 'broken' }, labelSelector: { rawSelector: 'app=a' } };
  assert.deepEqual((await review(raw)).body.status, {
    allowed: true,
    evaluationError: 'spec.resourceAttributes.fieldSelector ignored due to parse error',
  });
  assert.deepEqual(told(), {
    fieldSelector: undefined,
    labelSelector: { requirements: [{ key: 'app', operator: 'In', values: ['a'] }] },
  });
  const several = { key: 'metadata.name', operator: 'In', values: ['a', 'b'] };
  const newer = { key: 'app', operator: 'Near', values: ['a'] };
  const cut = await review({
    fieldSelector: { requirements: [several] },
    labelSelector: { requirements: [newer, { key: 'app', operator: 'Exists' }] },
  });
  assert.equal(
    (cut.body.status as { evaluationError: string }).evaluationError,
    '[spec.resourceAttributes.fieldSelector ignored due to parse error, spec.resourceAttributes.labelSelector ignored due to parse error]',
  );
  const at = 'spec.resourceAttributes.labelSelector';
  const wrong: readonly (readonly [object, string])[] = [
    [
      {},
      `${at}.requirements: Required value: when ${at} is specified, requirements or rawSelector is required`,
    ],
    [
      { rawSelector: 'a', requirements: [{ key: 'a', operator: 'Exists' }] },
      `${at}.rawSelector: Invalid value: "a": may not specified at the same time as requirements`,
    ],
    [
      { requirements: [{ key: 'a', operator: 'In' }] },
      `${at}.requirements[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
    ],
    [
      { requirements: [{ key: 'a', operator: 'Exists', values: ['x'] }] },
      `${at}.requirements[0].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
    ],
  ];
  for (const [labelSelector, why] of wrong) {
    const answer = await review({ labelSelector });
    assert.equal(answer.status, 422, answer.text);
    assert.ok(answer.message.endsWith(why), answer.message);
  }
});

test('who asks for their rules is told of all authorizers, and that there may be more', async () => {
  const rules = async (plane: TestControlPlane, who: UserInfo): Promise<Record<string, unknown>> => {
    const url = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
    const answer = await plane.ask('POST', url, { spec: { namespace: 'default' } }, { user: who });
    assert.equal(answer.status, 201, answer.text);
    return answer.body.status as Record<string, unknown>;
  };
  const allow = open;
  const both = await planeWith(webhook({ failurePolicy: 'NoOpinion' }), allow);
  assert.deepEqual(await rules(both, user('jane')), {
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
    incomplete: true,
    evaluationError: 'webhook authorizer does not support user rule resolution',
  });
  const own = await startTestControlPlane();
  after(() => own.close());
  const { incomplete, evaluationError, resourceRules } = await rules(own, user('jane'));
  assert.deepEqual([incomplete, evaluationError], [false, undefined]);
  const reviews = (resourceRules as { resources: string[] }[]).some(({ resources }) =>
    resources.includes('selfsubjectrulesreviews'),
  );
  assert.ok(reviews);
  const node = await rules(own, user('system:node:n1', 'system:nodes'));
  assert.deepEqual(
    [node.incomplete, node.evaluationError],
    [true, 'node authorizer does not support user rule resolution'],
  );
});
