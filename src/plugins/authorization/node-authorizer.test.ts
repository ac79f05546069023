// A node reaches what its pods name and its own objects, nothing of its neighbour.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentvolumeclaims, persistentvolumes, pods } from '../../api/generated/resources.ts';
import { fixedLiveObjects } from '../testing/fixed-live-objects.ts';
import { createNodeAccess } from './node/node-access.ts';
import { createNodeAuthorizer } from './node-authorizer.ts';

const live = fixedLiveObjects();
live.put(pods, {
  metadata: { name: 'web', namespace: 'a' },
  spec: {
    nodeName: 'n1',
    serviceAccountName: 'robot',
    imagePullSecrets: [{ name: 'pull' }],
    containers: [
      {
        name: 'c',
        env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'from-env', key: 'k' } } }],
        envFrom: [{ configMapRef: { name: 'from-env-from' } }],
      },
    ],
    volumes: [
      { name: 's', secret: { secretName: 'mounted' } },
      { name: 'c', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'd', persistentVolumeClaim: { claimName: 'steal' } },
      { name: 'p', projected: { sources: [{ configMap: { name: 'kube-root-ca.crt' } }] } },
    ],
  },
});
live.put(pods, {
  metadata: { name: 'other', namespace: 'a' },
  spec: { nodeName: 'n2', containers: [], volumes: [{ name: 's', secret: { secretName: 'theirs' } }] },
});
// A node says such pods itself.
live.put(pods, {
  metadata: { name: 'mirror', namespace: 'a', annotations: { 'kubernetes.io/config.mirror': 'x' } },
  spec: {
    nodeName: 'n1',
    serviceAccountName: 'admin',
    containers: [],
    volumes: [
      { name: 's', secret: { secretName: 'wanted' } },
      { name: 'c', configMap: { name: 'wanted' } },
      { name: 'd', persistentVolumeClaim: { claimName: 'wanted' } },
    ],
  },
});
live.put(persistentvolumeclaims, {
  metadata: { name: 'data', namespace: 'a' },
  spec: { volumeName: 'pv1' },
});
live.put(persistentvolumes, {
  metadata: { name: 'pv1' },
  spec: {
    claimRef: { name: 'data', namespace: 'a' },
    csi: {
      driver: 'd',
      volumeHandle: 'h',
      nodeStageSecretRef: { name: 'stage', namespace: 'a' },
      controllerPublishSecretRef: { name: 'controller', namespace: 'a' },
    },
  },
});
// A claim that names the volume of another's claim: whoever made it has not got it.
live.put(persistentvolumeclaims, {
  metadata: { name: 'steal', namespace: 'a' },
  spec: { volumeName: 'theirs' },
});
live.put(persistentvolumes, {
  metadata: { name: 'theirs' },
  spec: {
    claimRef: { name: 'data', namespace: 'b' },
    csi: { driver: 'd', volumeHandle: 'h', nodePublishSecretRef: { name: 'csi', namespace: 'b' } },
  },
});
const authorizer = createNodeAuthorizer({
  access: createNodeAccess(live),
  nodeRules: [{ apiGroups: [''], resources: ['services'], verbs: ['list'] }],
});

const ask = async (
  text: string,
  fields: Record<string, string> = {},
  groups = ['system:nodes'],
): Promise<string> => {
  const [verb = '', what = '', namespace = '', name = ''] = text.split(' ');
  const [groupResource = '', subresource = ''] = what.split('/');
  const [resource = '', ...group] = groupResource.split('.');
  const answer = await authorizer.authorize({
    user: { name: 'system:node:n1', groups },
    verb,
    isResource: true,
    group: group.join('.'),
    version: 'v1',
    resource,
    subresource,
    namespace,
    name,
    path: '',
    fields,
  });
  return answer.decision === 'allow' ? 'allow' : answer.reason;
};

const unrelated = "no relationship found between node 'n1' and this object";

test('secrets, config maps, claims and volumes of its own pods are allowed', async () => {
  for (const text of [
    'get secrets a mounted',
    'watch secrets a from-env',
    'get secrets a pull',
    'get secrets a stage',
    'get configmaps a from-env-from',
    'get configmaps a kube-root-ca.crt',
    'get persistentvolumeclaims a data',
    'get persistentvolumes  pv1',
    'create serviceaccounts/token a robot',
    'get pods a web',
    'list services a',
  ]) {
    assert.equal(await ask(text), 'allow', text);
  }
});

test("a neighbour's are not", async () => {
  assert.equal(await ask('get persistentvolumes  theirs'), unrelated, 'a claim of ours names it');
  assert.equal(await ask('get secrets b csi'), unrelated, 'such a volume names it');
  assert.equal(await ask('get secrets a controller'), unrelated, 'not read by kubelets');
  assert.equal(await ask('get secrets a theirs'), unrelated);
  assert.equal(await ask('get secrets b mounted'), unrelated);
  assert.equal(await ask('create serviceaccounts/token a default'), unrelated);
  assert.equal(await ask('get pods a other'), unrelated);
  assert.equal(await ask('list secrets a'), 'No Object name found');
  assert.equal(await ask('list secrets'), 'can only read namespaced object of this type');
  assert.equal(await ask('update secrets a mounted'), 'can only read resources of this type');
});

test('a mirror pod gives its node nothing but itself', async () => {
  for (const what of ['get secrets', 'get configmaps', 'get persistentvolumeclaims'])
    assert.equal(await ask(`${what} a wanted`), unrelated, what);
  assert.equal(await ask('create serviceaccounts/token a admin'), unrelated);
  assert.equal(await ask('get pods a mirror'), 'allow');
});

test('pods and nodes are listed only for itself', async () => {
  assert.equal(await ask('list pods', { 'spec.nodeName': 'n1' }), 'allow');
  assert.equal(
    await ask('list pods', { 'spec.nodeName': 'n2' }),
    'can only list/watch pods with spec.nodeName field selector',
  );
  assert.equal(await ask('watch nodes  n1'), 'allow');
  assert.equal(await ask('list nodes'), "node 'n1' cannot read all nodes, only its own Node object");
  assert.equal(await ask('get nodes  n2'), "node 'n1' cannot read 'n2', only its own Node object");
});

test('its own lease and CSINode, no other', async () => {
  assert.equal(await ask('update leases.coordination.k8s.io kube-node-lease n1'), 'allow');
  assert.equal(
    await ask('update leases.coordination.k8s.io kube-node-lease n2'),
    'can only access node lease with the same name as the requesting node',
  );
  assert.equal(
    await ask('update leases.coordination.k8s.io kube-system n1'),
    'can only access leases in the "kube-node-lease" system namespace',
  );
  assert.equal(await ask('get csinodes.storage.k8s.io  n1'), 'allow');
});

test('of its own things it may do what a kubelet does, and no more', async () => {
  const individual = 'can only get individual resources of this type';
  const accounts = 'can only get individual service accounts, or create tokens for them';
  const own = 'can only get, create, update, patch, or delete a';
  for (const [text, answer] of [
    ['get secrets/status a mounted', 'cannot read subresource'],
    ['patch configmaps a from-env-from', 'can only read resources of this type'],
    ['list persistentvolumeclaims a data', individual],
    ['update persistentvolumeclaims a data', individual],
    ['delete persistentvolumes  pv1', individual],
    ['get persistentvolumes/status  pv1', 'cannot get subresource'],
    ['patch persistentvolumeclaims/status a data', 'allow'],
    ['get persistentvolumeclaims/status a data', 'can only update status of a pvc'],
    ['get serviceaccounts a robot', 'allow'],
    ['delete serviceaccounts a robot', accounts],
    ['create serviceaccounts a robot', accounts],
    ['get serviceaccounts/token a robot', accounts],
    ['list leases.coordination.k8s.io kube-node-lease n1', `${own} node lease`],
    ['list csinodes.storage.k8s.io  n1', `${own} CSINode`],
    ['update csinodes.storage.k8s.io/status  n1', 'cannot authorize CSINode subresources'],
    ['create resourceslices.resource.k8s.io/status', 'cannot authorize ResourceSlice subresources'],
    [
      'bind resourceslices.resource.k8s.io',
      'only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection',
    ],
  ] as const)
    assert.equal(await ask(text, { 'spec.nodeName': 'n1' }), answer, text);
});

test('the name alone makes no node', async () => {
  assert.equal(await ask('get secrets a mounted', {}, []), '');
});
