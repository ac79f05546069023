// Which admission plugins run, in which order, and what those do that are on by a flag.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestControlPlane, user } from '../../src/controlplane/testing/test-control-plane.ts';
import { madeBy, planeWith, pod, pods, specOf } from './admission-plane.ts';

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
