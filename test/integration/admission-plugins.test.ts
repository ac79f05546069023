// Which admission plugins run, in which order, and what those do that are on by a flag or told something by a file.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type AdmissionFlags, configuredAdmission } from '../../src/cmd/compose/configured-admission.ts';
import { createMetrics } from '../../src/component-base/metrics.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import {
  startTestControlPlane,
  type TestControlPlane,
  user,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { type AdmissionChoice, admissionPlugins } from '../../src/plugins/admission/registry.ts';
import { startHttpsService } from '../harness/https-service.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const { path: folder, remove } = scratchDirectory('admission-plugins');
after(remove);

/** With the default namespace's account, so that pods can be made. */
async function planeWith(admission: AdmissionChoice): Promise<TestControlPlane> {
  const plane = await startTestControlPlane({ admission });
  after(() => plane.close());
  await account(plane, 'default');
  return plane;
}
const account = (plane: TestControlPlane, namespace: string) =>
  plane.ask('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } });
async function namespace(plane: TestControlPlane, name: string, metadata: object = {}): Promise<string> {
  assert.equal(
    (await plane.ask('POST', '/api/v1/namespaces', { metadata: { name, ...metadata } })).status,
    201,
  );
  await account(plane, name);
  return `/api/v1/namespaces/${name}/pods`;
}
const pod = (name: string, spec: object = {}, metadata: object = {}): object => ({
  metadata: { name, ...metadata },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});
const pods = '/api/v1/namespaces/default/pods';

interface Spec {
  readonly containers: readonly { imagePullPolicy?: string }[];
  readonly nodeSelector?: Record<string, string>;
  readonly tolerations?: readonly { key?: string }[];
}
const specOf = ({ body }: { body: Record<string, unknown> }): Spec => body.spec as Spec;

let files = 0;
function fileOf(content: object | string): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${files++}.yaml`);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}
const configured = (flags: AdmissionFlags): Promise<AdmissionChoice> =>
  configuredAdmission(flags, systemClock);
const toldBy = (...plugins: object[]): string =>
  fileOf({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AdmissionConfiguration', plugins });

/** kube-apiserver's 1.36 list of all plugins whose features are on, in its order; `+`: on by itself. */
const upstream = `AlwaysAdmit NamespaceAutoProvision +NamespaceLifecycle NamespaceExists
  LimitPodHardAntiAffinityTopology +LimitRanger +ServiceAccount NodeRestriction +TaintNodesByCondition
  AlwaysPullImages ImagePolicyWebhook +PodSecurity PodNodeSelector +Priority +DefaultTolerationSeconds
  PodTolerationRestriction EventRateLimit ExtendedResourceToleration +DefaultStorageClass
  +StorageObjectInUseProtection OwnerReferencesPermissionEnforcement +PersistentVolumeClaimResize +RuntimeClass
  +CertificateApproval +CertificateSigning +CertificateSubjectRestriction +DefaultIngressClass
  DenyServiceExternalIPs +PodTopologyLabels +NodeDeclaredFeatureValidator +PodResizeValidator
  +MutatingAdmissionPolicy +MutatingAdmissionWebhook +ValidatingAdmissionPolicy +ValidatingAdmissionWebhook
  +ResourceQuota AlwaysDeny`
  .split(/\s+/)
  .map((text) => ({ name: text.replace('+', ''), isOn: text.startsWith('+') }));
const told: Readonly<Record<string, object>> = {
  EventRateLimit: {
    apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1',
    kind: 'Configuration',
    limits: [{ type: 'Server', qps: 1, burst: 1 }],
  },
  ImagePolicyWebhook: { imagePolicy: { kubeConfigFile: '/none' } },
};
const madeBy = async (choice: AdmissionChoice): Promise<string[]> => {
  const deps = { webhooks: {}, clock: systemClock, metrics: createMetrics() } as Parameters<
    typeof admissionPlugins
  >[0];
  const reviewerOf = async () => ({ review: async () => ({}) });
  const plugins = await admissionPlugins(deps, { configOf: (name) => told[name], reviewerOf, ...choice });
  return plugins.map(({ name }) => name);
};

test('the plugins are those of kube-apiserver, in its order, on and off as there; NodeRestriction is on', async () => {
  const all = upstream.map(({ name }) => name);
  assert.deepEqual(await madeBy({ enabled: all }), all);
  assert.deepEqual(
    await madeBy({}),
    upstream.filter(({ name, isOn }) => isOn || name === 'NodeRestriction').map(({ name }) => name),
  );
});

test('names that there are not, and names that are enabled and disabled, are told in upstream’s words', async () => {
  await assert.rejects(madeBy({ enabled: ['PodSecurityPolicy'] }), {
    message: 'enable-admission-plugins plugin "PodSecurityPolicy" is unknown',
  });
  await assert.rejects(madeBy({ disabled: ['Foo'], enabled: ['AlwaysAdmit'] }), {
    message: 'disable-admission-plugins plugin "Foo" is unknown',
  });
  await assert.rejects(
    madeBy({ disabled: ['Priority', 'LimitRanger'], enabled: ['LimitRanger', 'Priority'] }),
    {
      message: '[LimitRanger Priority] in enable-admission-plugins and disable-admission-plugins overlapped',
    },
  );
  assert.ok(!(await madeBy({ disabled: ['ServiceAccount'] })).includes('ServiceAccount'));
  // Their features are off, as there: who names them is not refused.
  assert.deepEqual(
    await madeBy({ disabled: ['PodGroupWorkloadExists', 'ClusterTrustBundleAttest'] }),
    await madeBy({}),
  );
});

test('AlwaysPullImages: images are pulled again, also those of volumes; what an update brings not is left alone', async () => {
  const { ask } = await planeWith({ enabled: ['AlwaysPullImages'] });
  const spec = {
    containers: [{ name: 'c', image: 'i', imagePullPolicy: 'Never' }],
    initContainers: [{ name: 'init', image: 'j', imagePullPolicy: 'IfNotPresent' }],
    volumes: [{ name: 'v', image: { reference: 'k', pullPolicy: 'Never' } }],
  };
  const made = await ask('POST', pods, pod('a', spec));
  assert.equal(made.status, 201, made.text);
  const { containers, initContainers, volumes } = made.body.spec as typeof spec;
  assert.deepEqual(
    [containers[0]?.imagePullPolicy, initContainers[0]?.imagePullPolicy, volumes[0]?.image.pullPolicy],
    ['Always', 'Always', 'Always'],
  );
  assert.equal((await ask('PATCH', `${pods}/a`, { metadata: { labels: { a: 'b' } } })).status, 200);
});

test('DenyServiceExternalIPs: no new ones; those that are there may stay', async () => {
  const plane = await planeWith({ enabled: ['DenyServiceExternalIPs'] });
  const services = '/api/v1/namespaces/default/services';
  const service = (externalIPs: string[]): object => ({
    metadata: { name: 's' },
    spec: { ports: [{ port: 80 }], externalIPs },
  });
  const refused = await plane.ask('POST', services, service(['198.51.100.7']));
  assert.deepEqual(
    [refused.status, refused.message],
    [403, 'services "s" is forbidden: Use of external IPs is denied by admission control'],
  );
  assert.equal((await plane.ask('POST', services, service([]))).status, 201);
  const added = await plane.ask('PATCH', `${services}/s`, { spec: { externalIPs: ['198.51.100.7'] } });
  assert.equal(added.status, 403);
});

test('NamespaceAutoProvision makes the namespace; a dry run makes none', async () => {
  const { ask } = await planeWith({ enabled: ['NamespaceAutoProvision'] });
  const map = (place: string) =>
    ask('POST', `/api/v1/namespaces/new/configmaps${place}`, { metadata: { name: 'm' } });
  assert.equal((await map('?dryRun=All')).status, 404);
  assert.equal((await ask('GET', '/api/v1/namespaces/new')).status, 404);
  const made = await map('');
  assert.equal(made.status, 201, made.text);
  assert.equal((await ask('GET', '/api/v1/namespaces/new')).status, 200);
  const bad = await ask('POST', '/api/v1/namespaces/A_b/configmaps', { metadata: { name: 'm' } });
  assert.equal(bad.status, 403, bad.text);
});

test('AlwaysDeny refuses every write and no read; LimitPodHardAntiAffinityTopology and ExtendedResourceToleration look at pods', async () => {
  const denying = await startTestControlPlane({ admission: { enabled: ['AlwaysDeny'] } });
  after(() => denying.close());
  const map = await denying.ask('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'm' } });
  assert.deepEqual(
    [map.status, map.message],
    [403, 'configmaps "m" is forbidden: admission control is denying all modifications'],
  );
  assert.equal((await denying.ask('GET', '/api/v1/namespaces/default')).status, 200);

  const { ask } = await planeWith({
    enabled: ['LimitPodHardAntiAffinityTopology', 'ExtendedResourceToleration', 'NamespaceExists'],
  });
  const apart = (topologyKey: string): object => ({
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: {} }],
      },
    },
  });
  assert.equal(
    (await ask('POST', pods, pod('zone', apart('topology.kubernetes.io/zone')))).message,
    'pods "zone" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey topology.kubernetes.io/zone but only key kubernetes.io/hostname is allowed',
  );
  assert.equal((await ask('POST', pods, pod('host', apart('kubernetes.io/hostname')))).status, 201);
  const limits = { 'example.com/device': '1', cpu: '1' };
  const made = await ask(
    'POST',
    pods,
    pod('device', { containers: [{ name: 'c', image: 'i', resources: { limits, requests: limits } }] }),
  );
  assert.deepEqual(
    specOf(made).tolerations?.filter(({ key }) => !key?.startsWith('node.kubernetes.io/')),
    [{ key: 'example.com/device', operator: 'Exists', effect: 'NoSchedule' }],
    made.text,
  );
});

test('OwnerReferencesPermissionEnforcement: owners need the right to delete, and to hold up the owner’s deletion', async () => {
  const { ask } = await planeWith({ enabled: ['OwnerReferencesPermissionEnforcement'] });
  const jane = user('jane');
  const rule = (resources: string[], verbs: string[]): object => ({ apiGroups: [''], resources, verbs });
  const role = (rules: object[]) =>
    ask('PUT', '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/r', {
      metadata: { name: 'r' },
      rules,
    });
  const maps = '/api/v1/namespaces/default/configmaps';
  await ask('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles', {
    metadata: { name: 'r' },
    rules: [rule(['configmaps'], ['create', 'update'])],
  });
  await ask('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
    metadata: { name: 'b' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'jane' }],
  });
  const owned = (name: string, more: object = {}, apiVersion = 'v1', kind = 'Secret') =>
    ask(
      'POST',
      maps,
      { metadata: { name, ownerReferences: [{ apiVersion, kind, name: 'o', uid: 'u', ...more }] } },
      { user: jane },
    );
  assert.equal((await ask('POST', maps, { metadata: { name: 'free' } }, { user: jane })).status, 201);
  const refused = await owned('a');
  assert.equal(refused.status, 403);
  assert.match(
    refused.message,
    /^configmaps "a" is forbidden: cannot set an ownerRef on a resource you can't delete: .*, <nil>$/,
  );
  await role([rule(['configmaps'], ['create', 'update', 'delete'])]);
  assert.equal((await owned('a')).status, 201);
  const blocking = { blockOwnerDeletion: true };
  assert.match(
    (await owned('b', blocking)).message,
    /^configmaps "b" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: /,
  );
  assert.match(
    (await owned('b', blocking, 'example.com/v1', 'Thing')).message,
    /cannot find RESTMapping for APIVersion example\.com\/v1 Kind Thing: no matches for kind "Thing" in version "example\.com\/v1"/,
  );
  await role([rule(['configmaps'], ['create', 'delete']), rule(['secrets/finalizers'], ['update'])]);
  assert.equal((await owned('b', blocking)).status, 201);
});

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
  const started = performance.now();
  assert.equal((await ask('POST', hostile, pod('d', { tolerations: many.slice(0, 900) }))).status, 500);
  assert.ok(performance.now() - started < 1_000);
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
    /is not supported yet/,
  );
});

test('a pod that is bound has the zone and the region of its node; what it says itself stays when it is created', async () => {
  const plane = await planeWith({});
  const { ask } = plane;
  const zone = { 'topology.kubernetes.io/zone': 'z1', 'topology.kubernetes.io/region': 'r1' };
  await ask('POST', '/api/v1/nodes', { metadata: { name: 'n1', labels: { ...zone, other: 'x' } } });
  await ask('POST', pods, pod('later', {}, { labels: { app: 'a', 'topology.kubernetes.io/zone': 'mine' } }));
  const bound = await ask('POST', `${pods}/later/binding`, {
    metadata: { name: 'later' },
    target: { kind: 'Node', name: 'n1' },
  });
  assert.equal(bound.status, 201, bound.text);
  const labels = async (name: string): Promise<unknown> =>
    ((await ask('GET', `${pods}/${name}`)).body.metadata as { labels: unknown }).labels;
  assert.deepEqual(await labels('later'), { app: 'a', ...zone });
  const own = { labels: { 'topology.kubernetes.io/zone': 'mine' } };
  await ask('POST', pods, pod('placed', { nodeName: 'n1' }, own));
  assert.deepEqual(await labels('placed'), { ...zone, 'topology.kubernetes.io/zone': 'mine' });
  await ask('POST', pods, pod('nowhere', { nodeName: 'gone' }));
  assert.equal(await labels('nowhere'), undefined);
});

test('a pod is resized to what its node has, on Linux, and in ways that its node knows', async () => {
  const plane = await planeWith({});
  const { ask } = plane;
  const node = async (name: string, os: string, features: string[] = []): Promise<void> => {
    await ask('POST', '/api/v1/nodes', { metadata: { name, labels: { 'kubernetes.io/os': os } } });
    const status = { allocatable: { cpu: '2', memory: '1Gi', pods: '10' }, declaredFeatures: features };
    const said = await ask('PATCH', `/api/v1/nodes/${name}/status`, { status });
    assert.equal(said.status, 200, said.text);
  };
  await node('linux', 'linux');
  await node('windows', 'windows');
  await node('able', 'linux', ['InPlacePodLevelResourcesVerticalScaling']);
  const asks = (cpu: string): object => ({ name: 'c', image: 'i', resources: { requests: { cpu } } });
  const resize = async (nodeName: string, spec: object, made: object = {}) => {
    const name = `on-${nodeName}`;
    await ask('DELETE', `${pods}/${name}?gracePeriodSeconds=0`);
    const first = await ask('POST', pods, pod(name, { nodeName, containers: [asks('1')], ...made }));
    assert.equal(first.status, 201, first.text);
    const contentType = 'application/strategic-merge-patch+json';
    return ask('PATCH', `${pods}/${name}/resize`, { spec }, { contentType });
  };
  const large = await resize('linux', { containers: [asks('2500m')] });
  assert.deepEqual(
    [large.status, large.message, (large.body.details as { causes: unknown }).causes],
    [
      403,
      'pods "on-linux" is forbidden: Node didn\'t have enough allocatable resources: cpu, requested: 2500, allocatable: 2000',
      [{ reason: 'NodeCapacity' }],
    ],
  );
  assert.equal((await resize('linux', { containers: [asks('2')] })).status, 200);
  const windows = await resize('windows', { containers: [asks('2')] });
  assert.equal(
    windows.message,
    'pods "on-windows" is forbidden: pod resize is only supported on linux nodes, node "windows" is "windows"',
  );
  const init = { initContainers: [{ name: 'init', image: 'i', resources: { requests: { cpu: '500m' } } }] };
  const changed = { initContainers: [{ name: 'init', resources: { requests: { cpu: '400m' } } }] };
  assert.equal(
    (await resize('able', changed, init)).message,
    'pods "on-able" is forbidden: pod update requires features InPlacePodVerticalScalingInitContainers which are not available on node "able"',
  );
  assert.equal((await resize('able', { containers: [asks('2')] }, init)).status, 200);
});
