// What admission adds and refuses on the real server, in upstream's words.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createScheme } from '../../src/api/scheme.ts';
import { encodeProtobuf } from '../../src/apimachinery/serializer/protobuf/envelope.ts';
import { startTestControlPlane, user } from '../../src/controlplane/testing/test-control-plane.ts';

const plane = await startTestControlPlane();
after(() => plane.close());
const { ask } = plane;
const pods = '/api/v1/namespaces/default/pods';
const pod = (name: string, spec: object = {}): object => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});
await ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });

interface PodSpec {
  serviceAccountName?: string;
  priority?: number;
  volumes?: { name: string; projected?: unknown }[];
  containers: { volumeMounts?: unknown[]; resources?: unknown }[];
  tolerations?: unknown[];
  nodeSelector?: unknown;
  overhead?: unknown;
  imagePullSecrets?: unknown;
}
const specOf = (answer: { body: Record<string, unknown> }): PodSpec => answer.body.spec as PodSpec;

test('a pod gets its account, token volume, priority and tolerations', async () => {
  const made = await ask('POST', pods, pod('plain'));
  assert.equal(made.status, 201, made.text);
  const spec = specOf(made);
  assert.equal(spec.serviceAccountName, 'default');
  assert.equal(spec.priority, 0);
  const volume = spec.volumes?.[0];
  assert.match(volume?.name ?? '', /^kube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  assert.deepEqual(volume?.projected, {
    sources: [
      { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      {
        downwardAPI: {
          items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
        },
      },
    ],
    defaultMode: 420,
  });
  assert.deepEqual(spec.containers[0]?.volumeMounts, [
    { name: volume?.name, readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' },
  ]);
  assert.deepEqual(spec.tolerations, [
    { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
    {
      key: 'node.kubernetes.io/unreachable',
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 300,
    },
  ]);
  const none = await ask('POST', pods, pod('none', { automountServiceAccountToken: false }));
  assert.equal(specOf(none).volumes, undefined);
});

test('an account, class or namespace that is not there is named', async () => {
  const refusal = async (spec: object): Promise<string> => (await ask('POST', pods, pod('x', spec))).message;
  assert.equal(
    await refusal({ serviceAccountName: 'nope' }),
    'pods "x" is forbidden: error looking up service account default/nope: serviceaccount "nope" not found',
  );
  assert.equal(
    await refusal({ priorityClassName: 'nope' }),
    'pods "x" is forbidden: no PriorityClass with name nope was found',
  );
  assert.equal(
    await refusal({ runtimeClassName: 'nope' }),
    'pods "x" is forbidden: pod rejected: RuntimeClass "nope" not found',
  );
  assert.equal(
    await refusal({ priority: 5 }),
    'pods "x" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name',
  );
  const missing = await ask('POST', '/api/v1/namespaces/nope/configmaps', { metadata: { name: 'x' } });
  assert.deepEqual([missing.status, missing.message], [404, 'namespaces "nope" not found']);
  const system = await ask('POST', pods, pod('critical', { priorityClassName: 'system-node-critical' }));
  assert.equal(specOf(system).priority, 2_000_001_000, system.text);
});

test('nothing new enters a namespace that ends, and the first ones stay', async () => {
  await ask('POST', '/api/v1/namespaces', { metadata: { name: 'ending' } });
  const deleted = await ask('DELETE', '/api/v1/namespaces/ending');
  assert.equal((deleted.body.status as { phase: string }).phase, 'Terminating', deleted.text);
  const refused = await ask('POST', '/api/v1/namespaces/ending/configmaps', { metadata: { name: 'x' } });
  assert.equal(
    refused.message,
    'configmaps "x" is forbidden: unable to create new content in namespace ending because it is being terminated',
  );
  assert.deepEqual((refused.body.details as { causes: unknown }).causes, [
    {
      reason: 'NamespaceTerminating',
      message: 'namespace ending is being terminated',
      field: 'metadata.namespace',
    },
  ]);
  const current = (await ask('GET', '/api/v1/namespaces/ending')).body;
  const done = await ask('PUT', '/api/v1/namespaces/ending/finalize', {
    ...current,
    spec: { finalizers: [] },
  });
  assert.equal(done.status, 200, done.text);
  assert.equal((await ask('GET', '/api/v1/namespaces/ending')).status, 404);
  const kept = await ask('DELETE', '/api/v1/namespaces/kube-system');
  assert.equal(kept.message, 'namespaces "kube-system" is forbidden: this namespace may not be deleted');
});

test('a runtime class adds its selector and tolerations, and conflicts are refused', async () => {
  await ask('POST', '/apis/node.k8s.io/v1/runtimeclasses', {
    metadata: { name: 'windows' },
    handler: 'runhcs-wcow-process',
    overhead: { podFixed: { memory: '64Mi' } },
    scheduling: {
      nodeSelector: { 'kubernetes.io/os': 'windows' },
      tolerations: [{ key: 'os', operator: 'Equal', value: 'windows', effect: 'NoSchedule' }],
    },
  });
  const made = await ask('POST', pods, pod('win', { runtimeClassName: 'windows', nodeSelector: { a: 'b' } }));
  assert.equal(made.status, 201, made.text);
  assert.deepEqual(specOf(made).nodeSelector, { a: 'b', 'kubernetes.io/os': 'windows' });
  assert.deepEqual(specOf(made).overhead, { memory: '64Mi' });
  assert.equal(specOf(made).tolerations?.length, 3);
  const conflict = await ask(
    'POST',
    pods,
    pod('x', { runtimeClassName: 'windows', nodeSelector: { 'kubernetes.io/os': 'linux' } }),
  );
  assert.equal(
    conflict.message,
    'pods "x" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[kubernetes.io/os] = windows; pod.spec.nodeSelector[kubernetes.io/os] = linux',
  );
});

test('a limit range fills in what is missing and refuses what is too much', async () => {
  await ask('POST', '/api/v1/namespaces', { metadata: { name: 'limited' } });
  await ask('POST', '/api/v1/namespaces/limited/serviceaccounts', { metadata: { name: 'default' } });
  await ask('POST', '/api/v1/namespaces/limited/limitranges', {
    metadata: { name: 'range' },
    spec: {
      limits: [
        { type: 'Container', default: { cpu: '500m' }, defaultRequest: { cpu: '100m' }, max: { cpu: '1' } },
      ],
    },
  });
  const url = '/api/v1/namespaces/limited/pods';
  const made = await ask('POST', url, pod('a'));
  assert.deepEqual(
    specOf(made).containers[0]?.resources,
    { requests: { cpu: '100m' }, limits: { cpu: '500m' } },
    made.text,
  );
  const big = await ask(
    'POST',
    url,
    pod('b', { containers: [{ name: 'c', image: 'i', resources: { limits: { cpu: '2' } } }] }),
  );
  assert.equal(big.message, 'pods "b" is forbidden: maximum cpu usage per Container is 1, but limit is 2');
});

test('a node that registers is kept free of pods until it is ready', async () => {
  const node = await ask(
    'POST',
    '/api/v1/nodes',
    { metadata: { name: 'n9' } },
    { user: user('system:node:n9', 'system:nodes') },
  );
  assert.equal(node.status, 201, node.text);
  assert.deepEqual((node.body.spec as { taints: unknown }).taints, [
    { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
  ]);
  const foreign = await ask(
    'POST',
    '/api/v1/nodes',
    { metadata: { name: 'n10' } },
    { user: user('system:node:n9', 'system:nodes') },
  );
  assert.equal(foreign.message, 'nodes "n10" is forbidden: node "n9" is not allowed to modify node "n10"');
});

test('a pod is bound once', async () => {
  await ask('POST', pods, pod('bound'));
  const binding = { metadata: { name: 'bound' }, target: { kind: 'Node', name: 'n1' } };
  const first = await ask('POST', `${pods}/bound/binding`, { apiVersion: 'v1', kind: 'Binding', ...binding });
  assert.equal(first.status, 201, first.text);
  const stored = await ask('GET', `${pods}/bound`);
  assert.equal((stored.body.spec as { nodeName: string }).nodeName, 'n1');
  const conditions = (stored.body.status as { conditions: { type: string; status: string }[] }).conditions;
  assert.deepEqual(
    conditions.map((c) => [c.type, c.status]),
    [['PodScheduled', 'True']],
  );
  const second = await ask('POST', `${pods}/bound/binding`, binding);
  assert.equal(second.status, 409);
  assert.equal(
    second.message,
    'Operation cannot be fulfilled on pods/binding "bound": pod bound is already assigned to node "n1"',
  );
  const old = await ask('POST', '/api/v1/namespaces/default/bindings', binding);
  assert.equal(old.status, 409, old.text);
});

test('a disruption budget holds an eviction back', async () => {
  await ask('POST', pods, { ...pod('guarded'), metadata: { name: 'guarded', labels: { app: 'g' } } });
  const running = await ask(
    'PATCH',
    `${pods}/guarded/status`,
    { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
    {
      contentType: 'application/merge-patch+json',
    },
  );
  assert.equal(running.status, 200, running.text);
  const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
  await ask('POST', budgets, {
    metadata: { name: 'g' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'g' } } },
  });
  const status = {
    observedGeneration: 1,
    disruptionsAllowed: 0,
    currentHealthy: 1,
    desiredHealthy: 1,
    expectedPods: 1,
  };
  const said = await ask(
    'PATCH',
    `${budgets}/g/status`,
    { status },
    { contentType: 'application/merge-patch+json' },
  );
  assert.equal(said.status, 200, said.text);
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'guarded' } };
  const held = await ask('POST', `${pods}/guarded/eviction`, eviction);
  assert.equal(held.status, 429, held.text);
  assert.equal(held.message, "Cannot evict pod as it would violate the pod's disruption budget.");
  await ask(
    'PATCH',
    `${budgets}/g/status`,
    { status: { disruptionsAllowed: 1 } },
    { contentType: 'application/merge-patch+json' },
  );
  // Of clients of before Kubernetes 1.22, which speak protobuf: the same form under another version.
  const encoded = encodeProtobuf(createScheme(), eviction);
  const old = Buffer.from(encoded)
    .toString('latin1')
    .replace('\x15\x0a\x09policy/v1', '\x1a\x0a\x0epolicy/v1beta1');
  const dry = await ask('POST', `${pods}/guarded/eviction?dryRun=All`, Buffer.from(old, 'latin1'), {
    contentType: 'application/vnd.kubernetes.protobuf',
  });
  assert.equal(dry.status, 201, dry.text);
  const let1 = await ask('POST', `${pods}/guarded/eviction`, eviction);
  assert.equal(let1.status, 201, let1.text);
  const spent = await ask('GET', `${budgets}/g`);
  assert.equal((spent.body.status as { disruptionsAllowed: number }).disruptionsAllowed, 0);
});

test('a quota lets in as much as it says, also when all come at once', async () => {
  await ask('POST', '/api/v1/namespaces', { metadata: { name: 'quota' } });
  await ask('POST', '/api/v1/namespaces/quota/resourcequotas', {
    metadata: { name: 'q' },
    spec: { hard: { configmaps: '3', pods: '1', 'requests.cpu': '1', 'count/deployments.apps': '0' } },
  });
  const url = '/api/v1/namespaces/quota/configmaps';
  const all = await Promise.all(
    Array.from({ length: 8 }, (_, i) => ask('POST', url, { metadata: { name: `c${i}` } })),
  );
  assert.equal(all.filter((answer) => answer.status === 201).length, 3);
  assert.equal(
    all.find((answer) => answer.status === 403)?.message,
    'configmaps "c3" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=3, limited: configmaps=3',
  );
  await ask('DELETE', `${url}/c0`);
  assert.equal((await ask('POST', url, { metadata: { name: 'again' } })).status, 201);
  await ask('POST', '/api/v1/namespaces/quota/serviceaccounts', { metadata: { name: 'default' } });
  const silent = await ask('POST', '/api/v1/namespaces/quota/pods', pod('p'));
  assert.equal(silent.message, 'pods "p" is forbidden: failed quota: q: must specify requests.cpu for: c');
});

test('a quota of nothing but cpu and memory refuses a pod that says neither', async () => {
  const namespace = '/api/v1/namespaces/quiet';
  await ask('POST', '/api/v1/namespaces', { metadata: { name: 'quiet' } });
  const hard = { 'limits.memory': '1Gi', 'requests.cpu': '1' };
  await ask('POST', `${namespace}/resourcequotas`, { metadata: { name: 'q' }, spec: { hard } });
  await ask('POST', `${namespace}/serviceaccounts`, { metadata: { name: 'default' } });
  assert.equal(
    (await ask('POST', `${namespace}/pods`, pod('p'))).message,
    'pods "p" is forbidden: failed quota: q: must specify limits.memory for: c; requests.cpu for: c',
  );
});

test('a quota counts what updates add: a larger claim, a resized pod, a Service with more node ports', async () => {
  const api = '/api/v1/namespaces/growth';
  await ask('POST', '/api/v1/namespaces', { metadata: { name: 'growth' } });
  await ask('POST', `${api}/serviceaccounts`, { metadata: { name: 'default' } });
  const hard = { 'requests.storage': '3Gi', 'requests.cpu': '500m', 'services.nodeports': '2', pods: '1' };
  await ask('POST', `${api}/resourcequotas`, { metadata: { name: 'q' }, spec: { hard } });
  const used = async (name: string): Promise<unknown> =>
    ((await ask('GET', `${api}/resourcequotas/q`)).body.status as { used: Record<string, string> }).used[
      name
    ];

  await ask('POST', '/apis/storage.k8s.io/v1/storageclasses', {
    metadata: { name: 'grows' },
    provisioner: 'example.com/x',
    allowVolumeExpansion: true,
  });
  const asks = (storage: string): object => ({ resources: { requests: { storage } } });
  const spec = { accessModes: ['ReadWriteOnce'], storageClassName: 'grows', ...asks('1Gi') };
  await ask('POST', `${api}/persistentvolumeclaims`, { metadata: { name: 'c' }, spec });
  const bound = { status: { phase: 'Bound', capacity: { storage: '1Gi' } } };
  await ask('PATCH', `${api}/persistentvolumeclaims/c/status`, bound);
  const claim = `${api}/persistentvolumeclaims/c`;
  assert.equal((await ask('PATCH', claim, { spec: asks('3Gi') })).status, 200);
  assert.equal(await used('requests.storage'), '3Gi');
  assert.equal(
    (await ask('PATCH', claim, { spec: asks('4Gi') })).message,
    'persistentvolumeclaims "c" is forbidden: exceeded quota: q, requested: requests.storage=1Gi, used: requests.storage=3Gi, limited: requests.storage=3Gi',
  );
  assert.equal((await ask('PATCH', `${claim}?dryRun=All`, { spec: asks('4Gi') })).status, 403);

  const container = (cpu: string): object => ({ name: 'c', image: 'i', resources: { requests: { cpu } } });
  await ask('POST', `${api}/pods`, pod('p', { containers: [container('200m')] }));
  const resize = (cpu: string) =>
    ask(
      'PATCH',
      `${api}/pods/p/resize`,
      { spec: { containers: [container(cpu)] } },
      {
        contentType: 'application/strategic-merge-patch+json',
      },
    );
  assert.equal((await resize('500m')).status, 200);
  assert.equal(await used('requests.cpu'), '500m');
  assert.equal(
    (await resize('600m')).message,
    'pods "p" is forbidden: exceeded quota: q, requested: requests.cpu=100m, used: requests.cpu=500m, limited: requests.cpu=500m',
  );
  assert.equal((await resize('100m')).status, 200);
  // As upstream: nothing else of a pod is counted anew.
  assert.equal((await ask('PATCH', `${api}/pods/p`, { metadata: { labels: { a: 'b' } } })).status, 200);

  const ports = (count: number): object[] =>
    Array.from({ length: count }, (_, i) => ({ name: `p${i}`, port: 80 + i }));
  await ask('POST', `${api}/services`, {
    metadata: { name: 's' },
    spec: { ports: ports(1), type: 'NodePort' },
  });
  const service = (count: number) => ask('PATCH', `${api}/services/s`, { spec: { ports: ports(count) } });
  assert.equal((await service(2)).status, 200);
  assert.equal(
    (await service(3)).message,
    'services "s" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=2, limited: services.nodeports=2',
  );
});

test('a restricted namespace says all that is wrong with a pod', async () => {
  await ask('POST', '/api/v1/namespaces', {
    metadata: { name: 'strict', labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
  });
  await ask('POST', '/api/v1/namespaces/strict/serviceaccounts', { metadata: { name: 'default' } });
  const url = '/api/v1/namespaces/strict/pods';
  const plain = await ask('POST', url, pod('p'));
  assert.equal(
    plain.message,
    'pods "p" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  );
  const good = await ask(
    'POST',
    url,
    pod('p', {
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'c',
          image: 'i',
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    }),
  );
  assert.equal(good.status, 201, good.text);
  await ask(
    'PATCH',
    '/api/v1/namespaces/strict',
    {
      metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } },
    },
    { contentType: 'application/merge-patch+json' },
  );
  const host = await ask(
    'POST',
    url,
    pod('h', { hostNetwork: true, volumes: [{ name: 'v', hostPath: { path: '/' } }] }),
  );
  assert.equal(
    host.message,
    'pods "h" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true), hostPath volumes (volume "v")',
  );
});

test('a quota counts every kind by the name that the controller knows it by, and says at once what is used', async () => {
  const namespace = 'counted';
  await ask('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
  const api = `/api/v1/namespaces/${namespace}`;
  const rows: readonly (readonly [string, string, (name: string) => object])[] = [
    ['count/serviceaccounts', `${api}/serviceaccounts`, () => ({})],
    ['count/endpoints', `${api}/endpoints`, () => ({})],
    ['count/events', `${api}/events`, (name) => ({ involvedObject: { namespace, kind: 'Pod', name } })],
    ['count/limitranges', `${api}/limitranges`, () => ({ spec: { limits: [] } })],
    ['configmaps', `${api}/configmaps`, () => ({})],
    [
      'count/leases.coordination.k8s.io',
      `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`,
      () => ({}),
    ],
    [
      'count/roles.rbac.authorization.k8s.io',
      `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`,
      () => ({}),
    ],
    [
      'count/horizontalpodautoscalers.autoscaling',
      `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`,
      () => ({
        spec: { maxReplicas: 1, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } },
      }),
    ],
  ];
  for (const [name, url, body] of rows) {
    const quota = `q-${name.replace(/[/.]/g, '-')}`;
    const made = await ask('POST', `${api}/resourcequotas`, {
      metadata: { name: quota },
      spec: { hard: { [name]: '2' } },
    });
    assert.equal(made.status, 201, made.text);
    const statuses: number[] = [];
    for (const object of ['a', 'b', 'c']) {
      const answer = await ask('POST', url, { metadata: { name: object }, ...body(object) });
      statuses.push(answer.status);
      const { status } = (await ask('GET', `${api}/resourcequotas/${quota}`)).body;
      const used = (status as { used: Record<string, string> }).used[name];
      assert.equal(used, object === 'a' ? '1' : '2', `${name} after ${object} ${answer.text}`);
      if (object === 'c')
        assert.match(
          answer.message,
          new RegExp(`exceeded quota: ${quota}, requested: .*=1, used: .*=2, limited: .*=2$`),
        );
    }
    assert.deepEqual(statuses, [201, 201, 403], name);
  }
});

test('a bound claim asks for more only where its class lets volumes grow, and is told that none does yet', async () => {
  const claims = '/api/v1/namespaces/default/persistentvolumeclaims';
  const classes = '/apis/storage.k8s.io/v1/storageclasses';
  const asks = (storage: string): object => ({ resources: { requests: { storage } } });
  const grown = async (name: string, allowVolumeExpansion: boolean) => {
    await ask('POST', classes, { metadata: { name }, provisioner: 'example.com/x', allowVolumeExpansion });
    const spec = { accessModes: ['ReadWriteOnce'], storageClassName: name, ...asks('1Mi') };
    await ask('POST', claims, { metadata: { name }, spec });
    const bound = { status: { phase: 'Bound', capacity: { storage: '1Mi' } } };
    assert.equal((await ask('PATCH', `${claims}/${name}/status`, bound)).status, 200);
    assert.equal((await ask('PATCH', `${claims}/${name}`, { metadata: { labels: { a: 'b' } } })).status, 200);
    return ask('PATCH', `${claims}/${name}`, { spec: asks('1Gi') });
  };
  const refused = await grown('fixed', false);
  assert.deepEqual(
    [refused.status, refused.message],
    [
      403,
      'persistentvolumeclaims "fixed" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
    ],
  );
  const taken = await grown('growing', true);
  assert.equal(taken.status, 200, taken.text);
  assert.deepEqual(taken.warnings, [
    '299 - "not enforced: nothing makes volumes larger yet; the claim keeps what it has"',
  ]);
});
