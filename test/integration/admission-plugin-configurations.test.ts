// What admission plugins do that are told something by a file.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AdmissionFlags } from '../../src/cmd/compose/configured-admission.ts';
import { user } from '../../src/controlplane/testing/test-control-plane.ts';
import { createCertificateAuthority, issueCertificate } from '../../src/crypto/certificates.ts';
import { startHttpsService } from '../harness/https-service.ts';
import { startWebhookServer } from '../harness/webhook-server.ts';
import {
  configured,
  fileOf,
  folder,
  madeBy,
  namespace,
  planeWith,
  pod,
  pods,
  specOf,
  told,
  toldBy,
} from './admission-plane.ts';

test('PodNodeSelector: the namespace’s selector, or the default; the administrator’s list bounds it', async () => {
  const file = fileOf({
    podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: 'disk=ssd', bound: 'env=test,disk=ssd' },
  });
  const plane = await planeWith(
    await configured({ enableAdmissionPlugins: ['PodNodeSelector'], admissionControlConfigFile: file }),
  );
  const { ask } = plane;
  assert.deepEqual(specOf(await ask('POST', pods, pod('a'))).nodeSelector, { disk: 'ssd' });
  const conflict = await ask('POST', pods, pod('b', { nodeSelector: { disk: 'slow' } }));
  assert.deepEqual(
    [conflict.status, conflict.message],
    [403, 'pods "b" is forbidden: pod node label selector conflicts with its namespace node label selector'],
  );
  const annotated = { annotations: { 'scheduler.alpha.kubernetes.io/node-selector': 'env=test' } };
  const bound = await namespace(plane, 'bound', annotated);
  assert.deepEqual(specOf(await ask('POST', bound, pod('c'))).nodeSelector, { env: 'test' });
  assert.equal(
    (await ask('POST', bound, pod('d', { nodeSelector: { gpu: 'yes' } }))).message,
    'pods "d" is forbidden: pod node label selector labels conflict with its namespace whitelist',
  );
  const broken = await namespace(plane, 'broken', {
    annotations: { 'scheduler.alpha.kubernetes.io/node-selector': 'env' },
  });
  const answer = await ask('POST', broken, pod('e'));
  assert.deepEqual([answer.status, answer.message], [500, 'invalid selector: [env]']);
});

test('DefaultTolerationSeconds: how long pods stay on nodes that are not ready, or not reachable, is said by flags', async () => {
  const secondsOf = async (flags: AdmissionFlags): Promise<unknown> => {
    const { ask } = await planeWith(await configured(flags));
    const { tolerations = [] } = specOf(await ask('POST', pods, pod('a'))) as {
      readonly tolerations?: readonly { readonly key?: string; readonly tolerationSeconds?: number }[];
    };
    return tolerations.map(({ key, tolerationSeconds }) => [key, tolerationSeconds]);
  };
  const [notReady, unreachable] = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];
  assert.deepEqual(await secondsOf({ defaultNotReadyTolerationSeconds: 30 }), [
    [notReady, 30],
    [unreachable, 300],
  ]);
  assert.deepEqual(
    await secondsOf({ defaultNotReadyTolerationSeconds: 0, defaultUnreachableTolerationSeconds: 60 }),
    [
      [notReady, 0],
      [unreachable, 60],
    ],
  );
});

test('PodTolerationRestriction: a namespace’s tolerations and their bound; a hostile annotation costs little', async () => {
  const plugin = 'PodTolerationRestriction';
  const configuration = {
    apiVersion: 'podtolerationrestriction.admission.k8s.io/v1alpha1',
    kind: 'Configuration',
    default: [{ key: 'cluster', operator: 'Exists' }],
  };
  const plane = await planeWith(
    await configured({
      enableAdmissionPlugins: [plugin],
      disableAdmissionPlugins: ['DefaultTolerationSeconds'],
      admissionControlConfigFile: toldBy({ name: plugin, configuration }),
    }),
  );
  const { ask } = plane;
  assert.deepEqual(specOf(await ask('POST', pods, pod('a'))).tolerations, [
    { key: 'cluster', operator: 'Exists' },
  ]);
  const said = (defaults: unknown, whitelist: unknown): object => ({
    annotations: {
      'scheduler.alpha.kubernetes.io/defaultTolerations': JSON.stringify(defaults),
      'scheduler.alpha.kubernetes.io/tolerationsWhitelist': JSON.stringify(whitelist),
    },
  });
  const own = [{ key: 'own', operator: 'Equal', value: 'x', effect: 'NoSchedule' }];
  const url = await namespace(plane, 'own', said(own, [{ key: 'own', operator: 'Exists' }]));
  const made = await ask('POST', url, pod('b', { tolerations: [{ ...own[0] }] }));
  assert.deepEqual(specOf(made).tolerations, own, made.text);
  const refused = await ask('POST', url, pod('c', { tolerations: [{ operator: 'Exists' }] }));
  assert.deepEqual(
    [refused.status, refused.message],
    [
      500,
      'pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist',
    ],
  );
  const sized = pod('sized', {
    containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }],
  });
  assert.deepEqual(specOf(await ask('POST', pods, sized)).tolerations, [
    { key: 'cluster', operator: 'Exists' },
    { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
  ]);
  const many = Array.from({ length: 5_000 }, (_, i) => ({ key: `k${i}` }));
  const hostile = await namespace(plane, 'hostile', said(many, many));
  const started = process.cpuUsage();
  assert.equal((await ask('POST', hostile, pod('d', { tolerations: many.slice(0, 900) }))).status, 500);
  const { user } = process.cpuUsage(started);
  assert.ok(user < 3_000_000, `${user} µs`);
  const nonsense = await namespace(plane, 'nonsense', said([null, 7], {}));
  assert.equal((await ask('POST', nonsense, pod('e'))).status, 500);
});

test('EventRateLimit: who writes too many Events is told to wait', async () => {
  const limits = [
    { type: 'Server', qps: 1, burst: 4 },
    { type: 'Namespace', qps: 1, burst: 2, cacheSize: 1 },
  ];
  const configuration = { ...told.EventRateLimit, limits };
  const { ask } = await planeWith(
    await configured({
      enableAdmissionPlugins: ['EventRateLimit'],
      admissionControlConfigFile: toldBy({
        name: 'EventRateLimit',
        path: fileOf(configuration).slice(folder.length + 1),
      }),
    }),
  );
  let made = 0;
  const event = () =>
    ask('POST', '/api/v1/namespaces/default/events', {
      metadata: { name: `e${made++}` },
      involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
    });
  assert.deepEqual([(await event()).status, (await event()).status], [201, 201]);
  const refused = await event();
  assert.deepEqual(
    [
      refused.status,
      refused.message,
      (refused.body.details as { retryAfterSeconds: number }).retryAfterSeconds,
    ],
    [429, 'limit reached on type Namespace for key default', 10],
  );
  await event();
  assert.equal((await event()).message, 'limit reached on type Namespace for key default');
  assert.equal((await ask('POST', pods, pod('p'))).status, 201, 'only Events are counted');
});

test('ImagePolicyWebhook: its service is asked once for the same images; who does not answer lets in or keeps out', async () => {
  const seen: unknown[] = [];
  const service = await startHttpsService((_, __, body) => {
    const { spec } = body as { spec: { containers: { image: string }[] } };
    seen.push(spec);
    const { image } = spec.containers[0]!;
    if (image === 'down') return { status: 400, body: 'no' };
    return {
      body: { status: image === 'bad' ? { allowed: false, reason: 'old' } : { allowed: image !== 'mute' } },
    };
  });
  after(() => service.close());
  const kubeConfigFile = fileOf({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 's' } }],
    clusters: [
      {
        name: 's',
        cluster: {
          server: `${service.url}/images`,
          'certificate-authority-data': Buffer.from(service.caPem).toString('base64'),
        },
      },
    ],
  });
  const with_ = async (defaultAllow: boolean) =>
    planeWith(
      await configured({
        enableAdmissionPlugins: ['ImagePolicyWebhook'],
        admissionControlConfigFile: fileOf({ imagePolicy: { kubeConfigFile, defaultAllow } }),
      }),
    );
  const image = (name: string, of: string): object => pod(name, { containers: [{ name: 'c', image: of }] });
  const { ask } = await with_(false);
  const annotations = { 'mine.image-policy.k8s.io/ticket': '7', other: 'x' };
  const spec = { containers: [{ name: 'c', image: 'good' }] };
  assert.equal((await ask('POST', pods, pod('a', spec, { annotations }))).status, 201);
  assert.deepEqual(seen, [
    {
      containers: [{ image: 'good' }],
      annotations: { 'mine.image-policy.k8s.io/ticket': '7' },
      namespace: 'default',
    },
  ]);
  assert.equal((await ask('POST', pods, pod('b', spec, { annotations }))).status, 201);
  assert.equal(seen.length, 1);
  assert.equal(
    (await ask('POST', pods, image('c', 'bad'))).message,
    'pods "c" is forbidden: image policy webhook backend denied one or more images: old',
  );
  assert.equal(
    (await ask('POST', pods, image('d', 'mute'))).message,
    'pods "d" is forbidden: one or more images rejected by webhook backend',
  );
  assert.match(
    (await ask('POST', pods, image('e', 'down'))).message,
    /^pods "e" is forbidden: an error on the server/,
  );
  const open = await (await with_(true)).ask('POST', pods, image('f', 'down'));
  assert.equal(open.status, 201, open.text);
  assert.equal(
    (open.body.metadata as { annotations: Record<string, string> }).annotations[
      'alpha.image-policy.k8s.io/failed-open'
    ],
    'true',
  );
});

test('PodSecurity as a file says: defaults, and who is exempt', async () => {
  const configuration = {
    apiVersion: 'pod-security.admission.config.k8s.io/v1',
    kind: 'PodSecurityConfiguration',
    defaults: { enforce: 'baseline', 'enforce-version': 'v1.33', warn: 'restricted' },
    exemptions: { usernames: ['builder'], namespaces: ['free'], runtimeClasses: ['walled'] },
  };
  const plane = await planeWith(
    await configured({ admissionControlConfigFile: toldBy({ name: 'PodSecurity', configuration }) }),
  );
  const { ask } = plane;
  await ask('POST', '/apis/node.k8s.io/v1/runtimeclasses', { metadata: { name: 'walled' }, handler: 'h' });
  const hostly = { hostPID: true };
  const refused = await ask('POST', pods, pod('a', hostly));
  assert.deepEqual(
    [refused.status, refused.message],
    [403, 'pods "a" is forbidden: violates PodSecurity "baseline:v1.33": host namespaces (hostPID=true)'],
  );
  const warned = await ask('POST', pods, pod('b'));
  assert.match(warned.warnings.join(), /would violate PodSecurity \\"restricted:latest\\"/);
  assert.equal((await ask('POST', pods, pod('c', { ...hostly, runtimeClassName: 'walled' }))).status, 201);
  const free = await namespace(plane, 'free');
  const quiet = await ask('POST', free, pod('d', hostly));
  assert.deepEqual([quiet.status, quiet.warnings], [201, []]);
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  const labelled = await ask('PATCH', '/api/v1/namespaces/free', { metadata: { labels } });
  assert.match(
    labelled.warnings.join(),
    /namespace \\"free\\" is exempt from Pod Security, and the policy \(enforce=restricted:v1\.33\) will be ignored/,
  );
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['create'] }];
  await ask('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', { metadata: { name: 'p' }, rules });
  await ask('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'p' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'p' },
    subjects: ['builder', 'other'].map((name) => ({
      kind: 'User',
      apiGroup: 'rbac.authorization.k8s.io',
      name,
    })),
  });
  const as = async (name: string) =>
    (await ask('POST', pods, pod(name, hostly), { user: user(name) })).status;
  assert.deepEqual([await as('builder'), await as('other')], [201, 403]);
  const text = (await plane.metrics.text()).text;
  const count = (name: string, labels: string): number =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name}{${labels}}`))
        ?.split(' ')[1] ?? 0,
    );
  const of = 'request_operation="create",resource="pod",subresource=""';
  const judged = (decision: string, mode: string, level: string, version: string): number =>
    count(
      'pod_security_evaluations_total',
      `decision="${decision}",mode="${mode}",policy_level="${level}",policy_version="${version}",${of}`,
    );
  assert.deepEqual(
    [
      judged('deny', 'enforce', 'baseline', 'v1.33'),
      judged('allow', 'enforce', 'baseline', 'v1.33'),
      judged('deny', 'warn', 'restricted', 'latest'),
      count('pod_security_exemptions_total', of),
    ],
    [2, 1, 1, 3],
  );
});

test('ResourceQuota as a file says: what is limited needs a quota that covers it', async () => {
  const plane = await planeWith(
    await configured({
      admissionControlConfigFile: toldBy({
        name: 'ResourceQuota',
        configuration: {
          apiVersion: 'apiserver.config.k8s.io/v1',
          kind: 'ResourceQuotaConfiguration',
          limitedResources: [
            { resource: 'persistentvolumeclaims', matchContains: ['requests.storage'] },
            {
              resource: 'pods',
              matchScopes: [{ scopeName: 'PriorityClass', operator: 'In', values: ['dear'] }],
            },
          ],
        },
      }),
    }),
  );
  const { ask } = plane;
  const claim = () =>
    ask('POST', '/api/v1/namespaces/default/persistentvolumeclaims', {
      metadata: { name: 'c' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    });
  const refused = await claim();
  assert.deepEqual(
    [refused.status, refused.message],
    [403, 'persistentvolumeclaims "c" is forbidden: insufficient quota to consume: requests.storage'],
  );
  const quota = (name: string, spec: object) =>
    ask('POST', '/api/v1/namespaces/default/resourcequotas', { metadata: { name }, spec });
  await quota('storage', { hard: { 'requests.storage': '5Gi' } });
  assert.equal((await claim()).status, 201);
  await ask('POST', '/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name: 'dear' }, value: 9 });
  const dear = () => ask('POST', pods, pod('p', { priorityClassName: 'dear' }));
  const answer = await dear();
  assert.deepEqual(
    [answer.status, answer.message],
    [500, 'insufficient quota to match these scopes: [{PriorityClass In [dear]}]'],
  );
  assert.equal((await ask('POST', pods, pod('cheap'))).status, 201);
  await quota('dear', {
    hard: { pods: '1' },
    scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['dear'] }] },
  });
  assert.equal((await dear()).status, 201);
});

test('configurations that can’t be followed stop the start, with their plugin', async () => {
  const refused = async (flags: AdmissionFlags): Promise<string> => {
    try {
      await madeBy(await configured(flags));
    } catch (error) {
      return (error as Error).message;
    }
    return 'was taken';
  };
  const security = (configuration: object): Promise<string> =>
    refused({ admissionControlConfigFile: toldBy({ name: 'PodSecurity', configuration }) });
  const kind = { apiVersion: 'pod-security.admission.config.k8s.io/v1', kind: 'PodSecurityConfiguration' };
  assert.equal(
    await security({ ...kind, defaults: { enforce: 'strict', 'audit-version': '1.30' } }),
    'couldn\'t init admission plugin "PodSecurity": [defaults.enforce: Invalid value: "strict": must be one of privileged, baseline, restricted, defaults.audit-version: Invalid value: "1.30": must be "latest" or "v1.x"]',
  );
  assert.match(
    await security({ ...kind, exemptions: { namespaces: ['a', 'a'], usernames: [''] } }),
    /Duplicate value: "a".*username must not be empty/,
  );
  assert.match(await security({ ...kind, default: {} }), /strict decoding error: unknown field "default"/);
  assert.match(
    await security({ apiVersion: 'v1', kind: 'Pod' }),
    /no kind "Pod" is registered for version "v1"/,
  );
  const events = (limit: object): Promise<string> =>
    refused({
      enableAdmissionPlugins: ['EventRateLimit'],
      admissionControlConfigFile: toldBy({
        name: 'EventRateLimit',
        configuration: { ...told.EventRateLimit, limits: [limit] },
      }),
    });
  assert.match(
    await events({ type: 'Pod', qps: 0, burst: -1 }),
    /Unsupported value: "Pod".*burst.*must be positive.*qps/,
  );
  assert.match(
    await refused({ admissionControlConfigFile: '/none' }),
    /unable to read admission control configuration from "\/none"/,
  );
  assert.match(
    await refused({ admissionControlConfigFile: fileOf('a: [') }),
    /^failed to read plugin config: /,
  );
  assert.match(
    await refused({
      admissionControlConfigFile: toldBy({ name: 'MutatingAdmissionWebhook', configuration: {} }),
    }),
    /^couldn.t init admission plugin "MutatingAdmissionWebhook": no kind "" is registered for version ""$/,
  );
});

const webhookAdmission = (plugin: string, members: object): object => ({
  name: plugin,
  configuration: {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'WebhookAdmissionConfiguration',
    ...members,
  },
});

test('webhooks are asked as the users of a kubeconfig, each plugin’s by its own', async () => {
  const server = await startWebhookServer();
  after(() => server.close());
  const lifetime = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
  const ca = await createCertificateAuthority({ commonName: 'clients', ...lifetime });
  const pair = await issueCertificate(ca, { commonName: 'the-api-server', usages: ['client'], ...lifetime });
  const usersOf = (users: Record<string, object>): string =>
    fileOf({ users: Object.entries(users).map(([name, user]) => ({ name, user })) });
  const mutating = usersOf({
    '*': { token: 'wrong' },
    [`127.0.0.1:${server.port}`]: { token: 'm-token' },
  });
  const validating = usersOf({
    '*': {
      'client-certificate': fileOf(pair.certificatePem),
      'client-key-data': Buffer.from(pair.privateKeyPem).toString('base64'),
    },
  });
  const file = toldBy(
    webhookAdmission('MutatingAdmissionWebhook', { kubeConfigFile: mutating }),
    webhookAdmission('ValidatingAdmissionWebhook', { kubeConfigFile: validating }),
  );
  const { ask } = await planeWith(await configured({ admissionControlConfigFile: file }));
  for (const kind of ['mutating', 'validating']) {
    const made = await ask('POST', `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`, {
      metadata: { name: kind },
      webhooks: [
        {
          name: 'h.example.com',
          clientConfig: { url: `${server.url}/${kind}`, caBundle: server.caBundle },
          rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    });
    assert.equal(made.status, 201, made.text);
  }
  const made = await ask('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' } });
  assert.equal(made.status, 201, made.text);
  assert.deepEqual(
    server.asked.map(({ path, headers, commonName }) => [
      path.split('?')[0],
      headers['authorization'],
      headers['user-agent'],
      commonName,
    ]),
    [
      ['/mutating', 'Bearer m-token', 'kube-apiserver-admission', undefined],
      ['/validating', undefined, 'kube-apiserver-admission', 'the-api-server'],
    ],
  );
});

test('credentials that can’t be read fail the webhook, not the server; files that can’t be followed, its start', async () => {
  const server = await startWebhookServer();
  after(() => server.close());
  const kubeConfigFile = fileOf({ users: [{ name: '*', user: { tokenFile: '/nowhere/token' } }] });
  const plugin = 'ValidatingAdmissionWebhook';
  const { ask } = await planeWith(
    await configured({
      admissionControlConfigFile: toldBy(webhookAdmission(plugin, { kubeConfigFile })),
    }),
  );
  await ask('POST', '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    metadata: { name: 'v' },
    webhooks: [
      {
        name: 'h.example.com',
        clientConfig: { url: server.url, caBundle: server.caBundle },
        rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  const answer = await ask('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' } });
  assert.equal(answer.status, 500);
  assert.match(
    answer.message,
    /failed calling webhook "h\.example\.com": could not get REST client: unable to read tokenFile/,
  );
  assert.equal(server.asked.length, 0);
  for (const [members, why] of [
    [{ kubeConfigFile: 'beside' }, 'kubeConfigFile: Invalid value: "beside": must be an absolute file path'],
    [
      { staticManifestsDir: '/etc' },
      'staticManifestsDir: Forbidden: staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled',
    ],
    [{ kubeconfigFile: '/x' }, 'strict decoding error: unknown field "kubeconfigFile"'],
    [{ kubeConfigFile: '/nowhere/at/all' }, 'error loading config file "/nowhere/at/all"'],
  ] as const)
    await assert.rejects(
      madeBy(await configured({ admissionControlConfigFile: toldBy(webhookAdmission(plugin, members)) })),
      { message: `couldn't init admission plugin "${plugin}": ${why}` },
    );
});
