// What the credentials of one broken node are worth: its own objects, what its pods name, and nothing more.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startThiefPlane, type ThiefPlane } from '../harness/thief-node.ts';

let plane: ThiefPlane['plane'];
let asThief: ThiefPlane['asThief'];
let uid: string;
const pods = '/api/v1/namespaces/default/pods';

before(async () => {
  ({ plane, asThief, uid } = await startThiefPlane());
  await plane.ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  await plane.ask('POST', '/api/v1/namespaces/default/secrets', { metadata: { name: 'prize' } });
  await plane.ask('POST', pods, {
    metadata: { name: 'theirs' },
    spec: { nodeName: 'victim', containers: [{ name: 'c', image: 'i' }] },
  });
});
after(() => plane.close());

const mirror = (spec: object, owner: object = {}): object => ({
  metadata: {
    name: 'mirror',
    annotations: { 'kubernetes.io/config.mirror': 'x' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'thief', uid, controller: true, ...owner }],
  },
  spec: { nodeName: 'thief', containers: [{ name: 'c', image: 'i' }], ...spec },
});

test('a mirror pod is no key to secrets, config maps, claims or accounts', async () => {
  const container = (more: object): object => ({ containers: [{ name: 'c', image: 'i', ...more }] });
  const secret = { secretKeyRef: { name: 'prize', key: 'k' } };
  for (const [spec, what] of [
    [{ volumes: [{ name: 'v', secret: { secretName: 'prize' } }] }, 'secrets'],
    [container({ env: [{ name: 'X', valueFrom: secret }] }), 'secrets'],
    [container({ envFrom: [{ secretRef: { name: 'prize' } }] }), 'secrets'],
    [
      {
        ...container({}),
        initContainers: [{ name: 'i', image: 'i', env: [{ name: 'X', valueFrom: secret }] }],
      },
      'secrets',
    ],
    [{ imagePullSecrets: [{ name: 'prize' }] }, 'secrets'],
    [{ volumes: [{ name: 'v', csi: { driver: 'd', nodePublishSecretRef: { name: 'prize' } } }] }, 'secrets'],
    [container({ envFrom: [{ configMapRef: { name: 'm' } }] }), 'configmaps'],
    [{ volumes: [{ name: 'v', projected: { sources: [{ secret: { name: 'prize' } }] } }] }, 'secrets'],
    [{ volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] }, 'persistentvolumeclaims'],
    [{ serviceAccountName: 'default' }, 'service accounts'],
  ] as const) {
    const answer = await asThief('POST', pods, mirror(spec));
    assert.equal(answer.status, 403, `${what} ${JSON.stringify(spec)} ${answer.text}`);
    const tail = answer.message.split(' not reference ')[1] ?? answer.message.split(' that reference ')[1];
    assert.equal(tail, what, answer.message);
  }
  assert.equal((await asThief('GET', '/api/v1/namespaces/default/secrets/prize')).status, 403);
});

test('a mirror pod belongs to its own node, by uid', async () => {
  for (const [owner, text] of [
    [{ controller: false }, 'can only create pods with a controller owner reference set to itself'],
    [{ blockOwnerDeletion: true }, 'must not set blockOwnerDeletion on an owner reference'],
    [{ uid: 'another' }, `node thief UID mismatch: expected another got ${uid}`],
    [{ name: 'victim' }, 'can only create pods with an owner reference set to itself'],
  ] as const) {
    const answer = await asThief('POST', pods, mirror({}, owner));
    assert.equal(answer.status, 403, answer.text);
    assert.ok(answer.message.endsWith(text), answer.message);
  }
  assert.equal((await asThief('POST', pods, mirror({}))).status, 201);
});

test('a node changes neither its owners, taints and restricted labels nor other nodes', async () => {
  for (const path of ['/api/v1/nodes/thief', '/api/v1/nodes/thief/status']) {
    const owned = await asThief('PATCH', path, {
      metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'gone', uid: 'gone' }] },
    });
    assert.equal(owned.status, 403, path);
    assert.match(owned.message, /node "thief" is not allowed to modify ownerReferences$/);
    const labels = { 'node-restriction.kubernetes.io/pci': 'yes' };
    const labelled = await asThief('PATCH', path, { metadata: { labels } });
    assert.match(labelled.message, /is not allowed to modify labels: node-restriction.kubernetes.io\/pci$/);
  }
  const tainted = await asThief('PATCH', '/api/v1/nodes/thief', {
    spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] },
  });
  assert.match(tainted.message, /is not allowed to modify taints$/);
  for (const [method, path, body] of [
    ['PATCH', '/api/v1/nodes/victim', { metadata: { labels: { a: 'b' } } }],
    ['PATCH', '/api/v1/nodes/victim/status', { status: { phase: 'x' } }],
    ['DELETE', '/api/v1/nodes/victim', undefined],
    ['DELETE', '/api/v1/nodes/thief', undefined],
    ['POST', '/api/v1/nodes', { metadata: { name: 'third' } }],
    ['GET', '/api/v1/nodes/victim', undefined],
    ['GET', '/api/v1/nodes', undefined],
    ['GET', '/api/v1/nodes/victim/proxy/', undefined],
    ['GET', '/api/v1/nodes/thief/proxy/', undefined],
    ['DELETE', `${pods}/theirs`, undefined],
    ['PATCH', `${pods}/theirs/status`, { status: { phase: 'Failed' } }],
    ['POST', `${pods}/theirs/exec?command=id&stdout=1`, undefined],
    ['GET', `${pods}/theirs`, undefined],
    ['GET', '/api/v1/secrets', undefined],
    ['GET', '/api/v1/namespaces/default/secrets', undefined],
    ['GET', '/api/v1/namespaces/default/secrets?fieldSelector=metadata.name=prize', undefined],
    ['POST', '/api/v1/namespaces/default/serviceaccounts/default/token', { spec: {} }],
    [
      'PUT',
      '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/victim',
      { metadata: { name: 'victim' }, spec: {} },
    ],
    [
      'POST',
      '/apis/coordination.k8s.io/v1/namespaces/default/leases',
      { metadata: { name: 'thief' }, spec: {} },
    ],
    [
      'POST',
      '/api/v1/namespaces/default/pods',
      { metadata: { name: 'own' }, spec: { nodeName: 'thief', containers: [{ name: 'c', image: 'i' }] } },
    ],
  ] as const) {
    const answer = await asThief(method, path, body);
    assert.equal(answer.status, 403, `${method} ${path} ${answer.text}`);
  }
});
