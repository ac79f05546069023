// What one broken node writes of itself, and of others: a closed list. Row by row: attack, answer.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Answer } from '../../src/controlplane/testing/test-control-plane.ts';
import { createCertificateRequest } from '../../src/crypto/certificate-requests.ts';
import { asNode, startThiefPlane, type ThiefPlane, uidOf } from '../harness/thief-node.ts';

let plane: ThiefPlane['plane'];
let asThief: ThiefPlane['asThief'];
const own = '/api/v1/nodes/thief';
const asAdmin = (method: string, url: string, body?: unknown): Promise<Answer> =>
  plane.ask(method, url, body);

before(async () => {
  ({ plane, asThief } = await startThiefPlane());
  for (const [name, podCIDR] of [
    ['thief', '10.244.1.0/24'],
    ['victim', '10.244.2.0/24'],
  ])
    assert.equal((await asAdmin('PATCH', `/api/v1/nodes/${name}`, { spec: { podCIDR } })).status, 200);
});
after(() => plane.close());

type Row = readonly [what: string, body: object, status: number, ends: string];

async function expectRows(
  ask: typeof asThief,
  method: string,
  url: string,
  rows: readonly Row[],
): Promise<void> {
  for (const [what, body, status, ends] of rows) {
    const answer = await ask(method, url, body);
    assert.equal(answer.status, status, `${what}: ${answer.text}`);
    assert.ok(answer.message.endsWith(ends), `${what}: ${answer.message}`);
  }
}

test("nobody changes a node's pod prefixes or provider ID once they are set", async () => {
  const stays = 'node updates may not change podCIDR except from "" to valid';
  await expectRows(asAdmin, 'PATCH', own, [
    ['a wider prefix', { spec: { podCIDR: '10.0.0.0/8' } }, 422, stays],
    ['both fields', { spec: { podCIDR: '10.0.0.0/8', podCIDRs: ['10.0.0.0/8'] } }, 422, stays],
    ['one more prefix', { spec: { podCIDRs: ['10.244.1.0/24', 'fd00::/64'] } }, 422, stays],
    ['none', { spec: { podCIDR: null, podCIDRs: null } }, 422, stays],
    ['a first provider ID', { spec: { providerID: 'kind://a' } }, 200, ''],
    [
      'another provider ID',
      { spec: { providerID: 'kind://b' } },
      422,
      'node updates may not change providerID except from "" to valid',
    ],
    ['an external ID', { spec: { externalID: 'x' } }, 422, 'spec.externalID: Forbidden: may not be updated'],
  ]);
  const { body } = await asAdmin('GET', own);
  const { podCIDR, podCIDRs, providerID } = body['spec'] as Record<string, unknown>;
  assert.deepEqual([podCIDR, podCIDRs, providerID], ['10.244.1.0/24', ['10.244.1.0/24'], 'kind://a']);
});

test('what is no prefix is refused when it is first set', async () => {
  const name = 'fresh';
  await asAdmin('POST', '/api/v1/nodes', { metadata: { name } });
  await expectRows(asAdmin, 'PATCH', `/api/v1/nodes/${name}`, [
    [
      'a word',
      { spec: { podCIDR: 'foo' } },
      422,
      'spec.podCIDRs[0]: Invalid value: "foo": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
    [
      'two of a family',
      { spec: { podCIDRs: ['10.1.0.0/24', '10.2.0.0/24'] } },
      422,
      'may specify no more than one CIDR for each IP family',
    ],
    ['one of each', { spec: { podCIDRs: ['10.1.0.0/24', 'fd00::/64'] } }, 200, ''],
  ]);
  const created = await asAdmin('POST', '/api/v1/nodes', {
    metadata: { name: 'n' },
    spec: { podCIDR: 'foo' },
  });
  assert.equal(created.status, 422);
});

test('what a node writes of its own Node is a closed list', async () => {
  const denied = (what: string): string => `node "thief" is not allowed to modify ${what}`;
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'gone', uid: 'gone' };
  for (const url of [own, `${own}/status`])
    await expectRows(asThief, 'PATCH', url, [
      ['its labels of its own', { metadata: { labels: { 'example.com/rack': '7' } } }, 200, ''],
      ['an annotation', { metadata: { annotations: { a: 'b' } } }, 200, ''],
      ['owners', { metadata: { ownerReferences: [owner] } }, 403, denied('ownerReferences')],
      ['a finalizer', { metadata: { finalizers: ['example.com/stay'] } }, 403, denied('finalizers')],
      [
        'a role',
        { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } },
        403,
        'is not allowed to modify labels: node-role.kubernetes.io/control-plane',
      ],
    ]);
  await expectRows(asThief, 'PATCH', own, [
    ['cordon', { spec: { unschedulable: true } }, 200, ''],
    ['taints', { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } }, 403, denied('taints')],
    ['its prefix', { spec: { podCIDR: '10.0.0.0/8' } }, 403, denied('podCIDR')],
    ['its prefixes', { spec: { podCIDRs: ['10.0.0.0/8'], podCIDR: null } }, 403, denied('podCIDR')],
    ['a field of old', { spec: { externalID: 'x' } }, 403, denied('externalID')],
  ]);
  const config = { configMap: { name: 'a', namespace: 'b', kubeletConfigKey: 'c' } };
  const refused = 'node "thief" is not allowed to update configSource to a new non-nil configSource';
  await expectRows(asThief, 'PATCH', own, [
    ['a configuration', { spec: { configSource: config } }, 403, refused],
  ]);
  const { body } = await asAdmin('PATCH', own, { spec: { configSource: config } });
  assert.equal((body['spec'] as Record<string, unknown>)['configSource'], undefined, 'dropped, as upstream');
});

test('a node that registers brings neither prefix, owner, finalizer nor configuration', async () => {
  const config = { configMap: { name: 'a', namespace: 'b', kubeletConfigKey: 'c' } };
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'gone', uid: 'gone' };
  const register = (metadata: object, spec: object): Promise<Answer> =>
    asNode(plane, 'second')('POST', '/api/v1/nodes', { metadata: { name: 'second', ...metadata }, spec });
  for (const [metadata, spec, ends] of [
    [{}, { podCIDR: '10.0.0.0/8' }, 'node "second" is not allowed to set podCIDR'],
    [{}, { podCIDRs: ['10.0.0.0/8'] }, 'node "second" is not allowed to set podCIDRs'],
    [{ ownerReferences: [owner] }, {}, 'node "second" is not allowed to set ownerReferences'],
    [{ finalizers: ['example.com/stay'] }, {}, 'node "second" is not allowed to set finalizers'],
    [{}, { configSource: config }, 'node "second" is not allowed to create pods with a non-nil configSource'],
    [
      { labels: { 'node-restriction.kubernetes.io/pci': 'yes' } },
      {},
      'node "second" is not allowed to set the following labels: node-restriction.kubernetes.io/pci',
    ],
  ] as const) {
    const answer = await register(metadata, spec);
    assert.equal(answer.status, 403, answer.text);
    // podCIDR is made the first of podCIDRs and the other way round before anybody looks.
    assert.ok(answer.message.endsWith(ends) || /podCIDRs?$/.test(ends), answer.message);
  }
  const taints = [{ key: 'example.com/os', effect: 'NoSchedule' }];
  assert.equal((await register({}, { taints, providerID: 'x://y' })).status, 201);
});

test('a node writes no claim, slice, lease or CSINode but its own', async () => {
  const api = '/api/v1/namespaces/default';
  const claim = {
    metadata: { name: 'mine' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };
  assert.equal((await asAdmin('POST', `${api}/persistentvolumeclaims`, claim)).status, 201);
  await asAdmin('POST', `${api}/serviceaccounts`, { metadata: { name: 'default' } });
  const pod = await asAdmin('POST', `${api}/pods`, {
    metadata: { name: 'p' },
    spec: {
      nodeName: 'thief',
      containers: [{ name: 'c', image: 'i' }],
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'mine' } }],
    },
  });
  assert.equal(pod.status, 201, pod.text);
  const others =
    'node "thief" is not allowed to update fields other than status.capacity and status.conditions';
  await expectRows(asThief, 'PATCH', `${api}/persistentvolumeclaims/mine/status`, [
    ['capacity', { status: { capacity: { storage: '2Gi' } } }, 200, ''],
    ['phase', { status: { phase: 'Lost' } }, 403, others],
    ['a label', { metadata: { labels: { a: 'b' } } }, 403, others],
    ['a finalizer', { metadata: { finalizers: ['example.com/stay'] } }, 403, others],
  ]);
  const slices = '/apis/resource.k8s.io/v1/resourceslices';
  const slice = (name: string, nodeName?: string): object => ({
    metadata: { name },
    spec: {
      driver: 'd.example.com',
      pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
      ...(nodeName === undefined ? { allNodes: true } : { nodeName }),
    },
  });
  const create = 'can only create ResourceSlice with the same NodeName as the requesting node';
  await expectRows(asThief, 'POST', slices, [
    ["another node's", slice('a', 'victim'), 403, create],
    ["everybody's", slice('b'), 403, create],
    ['its own', slice('mine', 'thief'), 201, ''],
  ]);
  assert.equal((await asAdmin('POST', slices, slice('theirs', 'victim'))).status, 201);
  assert.equal((await asThief('GET', `${slices}/theirs`)).status, 403);
  assert.equal((await asThief('DELETE', `${slices}/theirs`)).status, 403);
  assert.equal((await asThief('DELETE', slices)).status, 403);
  assert.equal((await asThief('DELETE', `${slices}?fieldSelector=spec.nodeName%3Dvictim`)).status, 403);
  const stolen = await asThief('PATCH', `${slices}/mine`, { spec: { nodeName: 'victim' } });
  assert.ok([403, 422].includes(stolen.status), stolen.text);
  assert.equal((await asThief('GET', `${slices}/mine`)).status, 200);
  assert.equal((await asThief('DELETE', `${slices}?fieldSelector=spec.nodeName%3Dthief`)).status, 200);
  assert.equal((await asAdmin('GET', `${slices}/theirs`)).status, 200);
});

test('of pods, a node reaches its own status, deletion and eviction only', async () => {
  const pods = '/api/v1/namespaces/default/pods';
  const pod = {
    metadata: { name: 'theirs' },
    spec: { nodeName: 'victim', containers: [{ name: 'c', image: 'i' }] },
  };
  assert.equal((await asAdmin('POST', pods, pod)).status, 201);
  const eviction = { metadata: { name: 'theirs' } };
  for (const [method, url, body] of [
    ['PATCH', `${pods}/p`, { metadata: { labels: { a: 'b' } } }],
    ['PUT', `${pods}/p/ephemeralcontainers`, {}],
    ['POST', `${pods}/p/binding`, { target: { kind: 'Node', name: 'thief' } }],
    ['PATCH', `${pods}/p/resize`, {}],
    ['POST', `${pods}/p/exec?command=id`, undefined],
    ['PATCH', `${pods}/theirs/status`, { status: { phase: 'Failed' } }],
    ['DELETE', `${pods}/theirs`, undefined],
    ['POST', `${pods}/theirs/eviction`, eviction],
    ['PATCH', `${pods}/p/status`, { metadata: { labels: { app: 'db' } } }],
  ] as const)
    assert.equal((await asThief(method, url, body)).status, 403, `${method} ${url}`);
  assert.equal((await asThief('PATCH', `${pods}/p/status`, { status: { phase: 'Running' } })).status, 200);
  const evicted = await asThief('POST', `${pods}/p/eviction`, { metadata: { name: 'p' } });
  assert.equal(evicted.status, 201, evicted.text);
});

test('what a role lets a node do besides, it does to its own things only', async () => {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const role = { metadata: { name: 'all' }, rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] };
  const binding = {
    metadata: { name: 'all' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'all' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:node:trusted' }],
  };
  assert.equal((await asAdmin('POST', `${rbac}/clusterroles`, role)).status, 201);
  assert.equal((await asAdmin('POST', `${rbac}/clusterrolebindings`, binding)).status, 201);
  const ask = asNode(plane, 'trusted');
  assert.equal((await ask('POST', '/api/v1/nodes', { metadata: { name: 'trusted' } })).status, 201);
  const leases = '/apis/coordination.k8s.io/v1/namespaces';
  const named = (name: string, more: object = {}): object => ({ metadata: { name }, ...more });
  await expectRows(ask, 'POST', `${leases}/default/leases`, [
    ['elsewhere', named('trusted'), 403, 'can only access leases in the "kube-node-lease" system namespace'],
  ]);
  await expectRows(ask, 'POST', `${leases}/kube-node-lease/leases`, [
    [
      "another's lease",
      named('victim'),
      403,
      'can only access node lease with the same name as the requesting node',
    ],
    ['its own', named('trusted'), 201, ''],
  ]);
  await expectRows(ask, 'POST', '/apis/storage.k8s.io/v1/csinodes', [
    [
      "another's CSINode",
      named('victim', { spec: { drivers: [] } }),
      403,
      'can only access CSINode with the same name as the requesting node',
    ],
    ['its own', named('trusted', { spec: { drivers: [] } }), 201, ''],
  ]);
  await expectRows(ask, 'PATCH', '/apis/resource.k8s.io/v1/resourceslices/theirs', [
    [
      'a slice to take over',
      { spec: { nodeName: 'trusted' } },
      403,
      'can only update ResourceSlice with the same NodeName as the requesting node',
    ],
  ]);
  const api = '/api/v1/namespaces/default';
  await expectRows(ask, 'PATCH', `${api}/persistentvolumeclaims/mine`, [
    ['a claim', { metadata: { labels: { a: 'b' } } }, 403, 'may only update PVC status'],
  ]);
  const pod = (name: string, nodeName: string): object => ({
    metadata: { name },
    spec: {
      nodeName,
      containers: [{ name: 'c', image: 'i' }],
      resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 't' }],
    },
  });
  assert.equal((await asAdmin('POST', `${api}/pods`, pod('ours', 'trusted'))).status, 201);
  assert.equal((await asAdmin('POST', `${api}/pods`, pod('others', 'victim'))).status, 201);
  const uids = {
    ours: uidOf(await asAdmin('GET', `${api}/pods/ours`)),
    others: uidOf(await asAdmin('GET', `${api}/pods/others`)),
  };
  const claims = [{ name: 'gpu', resourceClaimName: 'of-somebody-else' }];
  await expectRows(ask, 'PATCH', `${api}/pods/ours/status`, [
    [
      'claims to read',
      { status: { resourceClaimStatuses: claims } },
      403,
      'node "trusted" cannot update resource claim statues',
    ],
  ]);
  await expectRows(ask, 'PATCH', `${api}/pods/ours`, [
    [
      'a pod itself',
      { metadata: { labels: { a: 'b' } } },
      403,
      'unexpected operation "UPDATE", node "trusted" can only create and delete mirror pods',
    ],
  ]);
  await expectRows(ask, 'POST', `${api}/pods/ours/binding`, [
    [
      'a binding',
      { target: { kind: 'Node', name: 'victim' } },
      403,
      `unexpected pod subresource "binding", only 'status' and 'eviction' are allowed`,
    ],
  ]);
  await expectRows(ask, 'DELETE', `${api}/pods/others`, [
    ["another's pod", {}, 403, 'node "trusted" can only delete pods with spec.nodeName set to itself'],
  ]);
  await expectRows(ask, 'POST', `${api}/serviceaccounts/default/token`, [
    ['a token of no pod', {}, 403, 'node requested token not bound to a pod'],
    ...(
      [
        [{ kind: 'Secret' }, 'node requested token not bound to a pod'],
        [{ apiVersion: 'v2' }, 'node requested token not bound to a pod'],
        [{ name: '' }, 'node requested token not bound to a pod'],
        [{ uid: '' }, 'node requested token with a pod binding without a uid'],
        [{ uid: 'other' }, 'The object might have been deleted and then recreated'],
        [{ name: 'others' }, 'The object might have been deleted and then recreated'],
        [
          { name: 'others', uid: uids.others },
          'node requested token bound to a pod scheduled on a different node',
        ],
      ] as const
    ).map(([more, ends]): Row => {
      const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'ours', uid: uids.ours, ...more };
      return [JSON.stringify(more), { spec: { audiences: [], boundObjectRef } }, 403, ends];
    }),
  ]);
  const node = await asAdmin('GET', '/api/v1/nodes/trusted');
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'trusted', controller: true, uid: uidOf(node) };
  const mirror = (metadata: object, spec: object = {}): object => ({
    metadata: {
      name: 'mirror',
      annotations: { 'kubernetes.io/config.mirror': 'x' },
      ownerReferences: [owner],
      ...metadata,
    },
    spec: { nodeName: 'trusted', containers: [{ name: 'c', image: 'i' }], ...spec },
  });
  const single = 'can only create pods with a single owner reference set to itself';
  await expectRows(ask, 'POST', `${api}/pods`, [
    [
      'no mirror',
      mirror({ annotations: {} }),
      403,
      'pod does not have "kubernetes.io/config.mirror" annotation, node "trusted" can only create mirror pods',
    ],
    [
      "another's mirror",
      mirror({}, { nodeName: 'victim' }),
      403,
      'node "trusted" can only create pods with spec.nodeName set to itself',
    ],
    ['two owners', mirror({ ownerReferences: [owner, { ...owner, name: 'victim' }] }), 403, single],
    ...(
      [
        [
          { volumes: [{ name: 'v', projected: { sources: [{ downwardAPI: { items: [] } }] } }] },
          'projected volumes',
        ],
        [
          { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'mine' } }] },
          'persistentvolumeclaims',
        ],
        [{ resourceClaims: [{ name: 'gpu', resourceClaimName: 'c' }] }, 'resourceclaims'],
      ] as const
    ).map(
      ([spec, what]): Row => [
        what,
        mirror({}, spec),
        403,
        `node "trusted" can not create pods that reference ${what}`,
      ],
    ),
    ['its mirror', mirror({}), 201, ''],
  ]);
  await expectRows(ask, 'DELETE', '/api/v1/nodes/victim', [
    ['another Node', {}, 403, 'node "trusted" is not allowed to modify node "victim"'],
  ]);
  assert.equal((await ask('DELETE', '/api/v1/nodes/trusted')).status, 200);
});

test('a request for a certificate without its parts, and its deletion, are answered as others', async () => {
  const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
  const serving = { signerName: 'kubernetes.io/kubelet-serving', usages: ['server auth'] };
  const noBlock = 'unable to parse csr: PEM block type must be CERTIFICATE REQUEST';
  await expectRows(asThief, 'POST', requests, [
    ['no request', { metadata: { name: 'none' }, spec: serving }, 403, noBlock],
    [
      'a request that is null',
      { metadata: { name: 'none' }, spec: { ...serving, request: null } },
      403,
      noBlock,
    ],
    ['no bytes', { metadata: { name: 'none' }, spec: { ...serving, request: '' } }, 403, noBlock],
  ]);
  const nothing = await asThief('POST', requests, { metadata: { name: 'none' } });
  assert.equal(nothing.status, 422, nothing.text);
  await asAdmin('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', {
    metadata: { name: 'ends-requests' },
    rules: [
      {
        apiGroups: ['certificates.k8s.io'],
        resources: ['certificatesigningrequests'],
        verbs: ['delete', 'deletecollection'],
      },
    ],
  });
  await asAdmin('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'ends-requests' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'ends-requests' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:node:thief' }],
  });
  for (const url of [`${requests}/gone`, requests]) {
    const { requestPem } = await createCertificateRequest({ commonName: 'a' });
    const request = Buffer.from(requestPem).toString('base64');
    const spec = { signerName: 'example.com/x', usages: ['client auth'], request };
    const made = await asAdmin('POST', requests, { metadata: { name: 'gone' }, spec });
    assert.equal(made.status, 201, made.text);
    const ended = await asThief('DELETE', url);
    assert.equal(ended.status, 200, ended.text);
  }
});

test("a node does not say that another's address is its own", async () => {
  const status = (address: string, type = 'InternalIP'): object => ({
    status: { addresses: [{ type, address }] },
  });
  const taken = 'node "thief" is not allowed to set address 172.30.0.2, which node "victim" has';
  assert.equal((await asAdmin('PATCH', '/api/v1/nodes/victim/status', status('172.30.0.2'))).status, 200);
  await expectRows(asThief, 'PATCH', `${own}/status`, [
    ['its own', status('172.30.0.3'), 200, ''],
    ["the other's", status('172.30.0.2'), 403, taken],
    ["the other's from outside", status('172.30.0.2', 'ExternalIP'), 403, taken],
    ["the other's in another spelling", status('::ffff:172.30.0.2'), 403, taken],
    ['its own again', status('172.30.0.3'), 200, ''],
    ['loopback', status('127.0.0.1'), 200, ''],
  ]);
  const registered = await asNode(plane, 'late')('POST', '/api/v1/nodes', {
    metadata: { name: 'late' },
    ...status('172.30.0.2'),
  });
  assert.equal(registered.status, 403, registered.text);
  // As the node lifecycle controller marks who is not heard of any more.
  const gone = { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } };
  assert.equal((await asAdmin('PATCH', '/api/v1/nodes/victim/status', gone)).status, 200);
  assert.equal((await asThief('PATCH', `${own}/status`, status('172.30.0.2'))).status, 200);
});
