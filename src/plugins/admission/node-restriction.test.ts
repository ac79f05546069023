// What a node may write, as a table: each row is one write and why it is refused, in upstream's words where it has some.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodes, pods } from '../../api/generated/resources.ts';
import type { Node, Pod } from '../../api/generated/types/core-v1.ts';
import { createScheme } from '../../api/scheme.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import type { AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { UserInfo } from '../../apiserver/authentication/user-info.ts';
import type { Authorizer } from '../../apiserver/authorization/authorizer.ts';
import { fixedLiveObjects } from '../testing/fixed-live-objects.ts';
import { createNodeRestriction } from './node-restriction.ts';

const scheme = createScheme();
const live = fixedLiveObjects();
const node = (name: string, more: object = {}): Node =>
  ({ metadata: { name, uid: `uid-${name}` }, spec: {}, status: {}, ...more }) as unknown as Node;
const addressed = (name: string, address: string, ready = 'True'): Node =>
  node(name, {
    status: {
      addresses: [{ type: 'InternalIP', address }],
      conditions: [{ type: 'Ready', status: ready }],
    },
  });
live.put(nodes, node('n1'));
live.put(nodes, addressed('n2', '10.0.0.2'));
live.put(nodes, addressed('silent', '10.0.0.3', 'Unknown'));
const pod = (name: string, nodeName: string, more: object = {}): Pod =>
  ({
    metadata: { namespace: 'n', name, uid: `uid-${name}` },
    spec: { nodeName, containers: [], ...more },
  }) as unknown as Pod;
const audienceVolume = {
  name: 'v',
  projected: { sources: [{ serviceAccountToken: { path: 't', audience: 'a' } }] },
};
live.put(pods, pod('mine', 'n1'));
live.put(pods, pod('theirs', 'n2'));
live.put(pods, pod('asking', 'n1', { volumes: [audienceVolume] }));

/** `trusted` is an audience that the node has a right to. */
const authorizer = {
  authorize: ({ resource }: { resource: string }) => ({
    decision: resource === 'trusted' ? 'allow' : 'no-opinion',
    reason: '',
  }),
} as unknown as Authorizer;
const plugin = createNodeRestriction(live, authorizer);
const n1: UserInfo = { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] };

interface Write {
  readonly operation?: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly of: string;
  readonly subresource?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly object?: unknown;
  readonly old?: unknown;
  readonly user?: UserInfo;
}

async function refusalOf(write: Write): Promise<string | undefined> {
  const [group = '', version = '', resource = ''] = write.of.split('/');
  const declaration = scheme.resource(group, version, resource);
  assert.ok(declaration, write.of);
  const request: AdmissionRequest = {
    operation: write.operation ?? 'CREATE',
    declaration,
    subresource: write.subresource ?? '',
    namespace: write.namespace ?? 'n',
    name: write.name ?? 'x',
    object: write.object as JsonObject | undefined,
    oldObject: write.old as JsonObject | undefined,
    user: write.user ?? n1,
    dryRun: false,
    signal: new AbortController().signal,
    reinvocation: { wanted: false, again: false },
    options: {},
    warn: () => {},
    atEnd: () => {},
    annotate: () => {},
    annotateContent: () => {},
  };
  try {
    await plugin.admit?.(request);
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(/^.* is forbidden: /, '');
  }
}

type Row = readonly [name: string, write: Write, refusal: string | undefined];

function table(about: string, rows: readonly Row[]): void {
  for (const [name, write, refusal] of rows)
    test(`${about}: ${name}`, async () => assert.equal(await refusalOf(write), refusal));
}

const ofPods = '/v1/pods';
const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'uid-n1', controller: true };
const mirror = (more: { owners?: object[]; spec?: object; annotations?: object } = {}): unknown => ({
  metadata: {
    name: 'm',
    annotations: more.annotations ?? { 'kubernetes.io/config.mirror': 'x' },
    ownerReferences: more.owners ?? [owner],
  },
  spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }], ...more.spec },
});
const creates = (more: Parameters<typeof mirror>[0]): Write => ({ of: ofPods, object: mirror(more) });
const references = (what: string): string => `node "n1" can not create pods that reference ${what}`;
const ownerRefusal = 'node "n1" can only create pods with an owner reference set to itself';

table('a node creates a pod', [
  ['a mirror of its own', creates({}), undefined],
  [
    'no mirror',
    creates({ annotations: {} }),
    'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods',
  ],
  [
    'on another node',
    creates({ spec: { nodeName: 'n2' } }),
    'node "n1" can only create pods with spec.nodeName set to itself',
  ],
  ['without an owner', creates({ owners: [] }), ownerRefusal],
  ['of another node', creates({ owners: [{ ...owner, name: 'n2' }] }), ownerRefusal],
  ['of another kind', creates({ owners: [{ ...owner, kind: 'Pod' }] }), ownerRefusal],
  [
    'with two owners',
    creates({ owners: [owner, owner] }),
    'node "n1" can only create pods with a single owner reference set to itself',
  ],
  [
    'whose owner does not control it',
    creates({ owners: [{ ...owner, controller: false }] }),
    'node "n1" can only create pods with a controller owner reference set to itself',
  ],
  [
    'whose owner waits for it',
    creates({ owners: [{ ...owner, blockOwnerDeletion: true }] }),
    'node "n1" must not set blockOwnerDeletion on an owner reference',
  ],
  [
    'of an earlier node of its name',
    creates({ owners: [{ ...owner, uid: 'old' }] }),
    'node n1 UID mismatch: expected old got uid-n1',
  ],
  [
    'before it is registered',
    {
      ...creates({ spec: { nodeName: 'new' }, owners: [{ ...owner, name: 'new' }] }),
      user: { ...n1, name: 'system:node:new' },
    },
    'nodes "new" not found',
  ],
  ['with a service account', creates({ spec: { serviceAccountName: 's' } }), references('a service account')],
  [
    'with a secret',
    creates({ spec: { volumes: [{ name: 'v', secret: { secretName: 's' } }] } }),
    references('secrets'),
  ],
  [
    'with a config map in its environment',
    creates({ spec: { containers: [{ name: 'c', envFrom: [{ configMapRef: { name: 's' } }] }] } }),
    references('configmaps'),
  ],
  [
    'with a projected volume',
    creates({ spec: { volumes: [{ name: 'v', projected: { sources: [] } }] } }),
    references('projected volumes'),
  ],
  [
    'with a claim',
    creates({ spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] } }),
    references('persistentvolumeclaims'),
  ],
  [
    'with a claim made for it',
    creates({ spec: { volumes: [{ name: 'v', ephemeral: {} }] } }),
    references('persistentvolumeclaims'),
  ],
  ['with devices', creates({ spec: { resourceClaims: [{ name: 'r' }] } }), references('resourceclaims')],
]);

const status = (nodeName: string, more: object = {}, labels: object = {}): unknown => ({
  metadata: { name: 'mine', labels },
  spec: { nodeName },
  status: more,
});
const writesStatus = (old: unknown, object: unknown): Write => ({
  of: ofPods,
  operation: 'UPDATE',
  subresource: 'status',
  name: 'mine',
  old,
  object,
});

table('a node writes of a pod', [
  ['the status of its own', writesStatus(status('n1'), status('n1', { phase: 'Running' })), undefined],
  [
    'the status of another',
    writesStatus(status('n2'), status('n1')),
    'node "n1" can only update pod status for pods with spec.nodeName set to itself',
  ],
  [
    'labels with its status',
    writesStatus(status('n1'), status('n1', {}, { a: 'b' })),
    'node "n1" cannot update labels through pod status',
  ],
  [
    'which claims its devices are',
    writesStatus(status('n1'), status('n1', { resourceClaimStatuses: [{ name: 'r' }] })),
    'node "n1" cannot update resource claim statues',
  ],
  [
    'its spec',
    { of: ofPods, operation: 'UPDATE', object: status('n1'), old: status('n1') },
    'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods',
  ],
  [
    'a binding',
    { of: ofPods, subresource: 'binding', object: {} },
    "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed",
  ],
  ['the end of its own', { of: ofPods, operation: 'DELETE', name: 'mine' }, undefined],
  [
    'the end of another',
    { of: ofPods, operation: 'DELETE', name: 'theirs' },
    'node "n1" can only delete pods with spec.nodeName set to itself',
  ],
  ['the end of none', { of: ofPods, operation: 'DELETE', name: 'none' }, 'pods "none" not found'],
  ['the eviction of its own', { of: ofPods, subresource: 'eviction', name: 'mine', object: {} }, undefined],
  [
    'the eviction of another',
    { of: ofPods, subresource: 'eviction', name: 'theirs', object: {} },
    'node n1 can only evict pods with spec.nodeName set to itself',
  ],
]);

const ofNodes = '/v1/nodes';
const registers = (object: Node): Write => ({ of: ofNodes, name: 'n1', namespace: '', object });
const updates = (object: Node, old: Node = node('n1')): Write => ({
  ...registers(object),
  operation: 'UPDATE',
  old,
});
const tainted = { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } };
const meta = (more: object): object => ({ metadata: { name: 'n1', uid: 'uid-n1', ...more } });

table('a node registers', [
  ['itself, with taints', registers(node('n1', tainted)), undefined],
  ['another', { ...registers(node('n2')), name: 'n2' }, 'node "n1" is not allowed to modify node "n2"'],
  [
    'a source of its configuration',
    registers(node('n1', { spec: { configSource: {} } })),
    'node "n1" is not allowed to create pods with a non-nil configSource',
  ],
  [
    'labels that others decide by',
    registers(
      node('n1', meta({ labels: { 'node-restriction.kubernetes.io/a': 'b', 'x.k8s.io/y': 'z', own: 'c' } })),
    ),
    'node "n1" is not allowed to set the following labels: node-restriction.kubernetes.io/a, x.k8s.io/y',
  ],
  [
    "labels that are a kubelet's",
    registers(
      node(
        'n1',
        meta({
          labels: {
            'kubernetes.io/os': 'linux',
            'node.kubernetes.io/a': 'b',
            'a.kubelet.kubernetes.io/b': 'c',
          },
        }),
      ),
    ),
    undefined,
  ],
  [
    'owners',
    registers(node('n1', meta({ ownerReferences: [owner] }))),
    'node "n1" is not allowed to set ownerReferences',
  ],
  [
    'finalizers',
    registers(node('n1', meta({ finalizers: ['a/b'] }))),
    'node "n1" is not allowed to set finalizers',
  ],
  [
    'addresses of its pods',
    registers(node('n1', { spec: { podCIDR: '10.1.0.0/24' } })),
    'node "n1" is not allowed to set podCIDR',
  ],
]);

table('a node changes', [
  ['that it takes no pods', updates(node('n1', { spec: { unschedulable: true } })), undefined],
  ['its taints', updates(node('n1', tainted)), 'node "n1" is not allowed to modify taints'],
  [
    'that it has taints',
    updates(node('n1'), node('n1', tainted)),
    'node "n1" is not allowed to modify taints',
  ],
  [
    'its owners',
    updates(node('n1', meta({ ownerReferences: [owner] }))),
    'node "n1" is not allowed to modify ownerReferences',
  ],
  [
    'a label that others decide by',
    updates(node('n1', meta({ labels: {} })), node('n1', meta({ labels: { 'x.k8s.io/y': 'z' } }))),
    'is not allowed to modify labels: x.k8s.io/y',
  ],
  ['its address', updates(addressed('n1', '10.0.0.1')), undefined],
  [
    'its address to that of another',
    updates(addressed('n1', '10.0.0.2')),
    'node "n1" is not allowed to set address 10.0.0.2, which node "n2" has',
  ],
  ['its address to that of one that is silent', updates(addressed('n1', '10.0.0.3')), undefined],
  [
    'nothing of an address that two had before',
    updates(addressed('n1', '10.0.0.2'), addressed('n1', '10.0.0.2')),
    undefined,
  ],
  ['its end', { of: ofNodes, operation: 'DELETE', name: 'n1', namespace: '' }, undefined],
  [
    'the end of another',
    { of: ofNodes, operation: 'DELETE', name: 'n2', namespace: '' },
    'node "n1" is not allowed to modify node "n2"',
  ],
]);

const claim = (storage: string, capacity: string, resourceVersion = '1'): unknown => ({
  metadata: { name: 'c', resourceVersion },
  spec: { resources: { requests: { storage } } },
  status: { phase: 'Bound', capacity: { storage: capacity } },
});
const claims = '/v1/persistentvolumeclaims';
const leasesOf = 'coordination.k8s.io/v1/leases';
const slices = 'resource.k8s.io/v1/resourceslices';
const slice = (nodeName?: string): unknown => ({ metadata: { name: 's' }, spec: { nodeName } });

table('a node writes', [
  [
    'the capacity of a claim',
    {
      of: claims,
      operation: 'UPDATE',
      subresource: 'status',
      old: claim('1', '1'),
      object: claim('1', '2', '2'),
    },
    undefined,
  ],
  [
    'more of a claim than its capacity',
    { of: claims, operation: 'UPDATE', subresource: 'status', old: claim('1', '1'), object: claim('2', '1') },
    'node "n1" is not allowed to update fields other than status.capacity and status.conditions',
  ],
  ['a claim', { of: claims, object: claim('1', '1') }, 'may only update PVC status'],
  ['its lease', { of: leasesOf, namespace: 'kube-node-lease', name: 'n1' }, undefined],
  [
    'the lease of another',
    { of: leasesOf, namespace: 'kube-node-lease', name: 'n2' },
    'can only access node lease with the same name as the requesting node',
  ],
  [
    'a lease that says who leads',
    { of: leasesOf, namespace: 'kube-system', name: 'n1' },
    'can only access leases in the "kube-node-lease" system namespace',
  ],
  ['its CSINode', { of: 'storage.k8s.io/v1/csinodes', name: 'n1' }, undefined],
  [
    'the CSINode of another',
    { of: 'storage.k8s.io/v1/csinodes', name: 'n2' },
    'can only access CSINode with the same name as the requesting node',
  ],
  ['a slice of its devices', { of: slices, object: slice('n1') }, undefined],
  [
    'a slice of the devices of another',
    { of: slices, object: slice('n2') },
    'can only create ResourceSlice with the same NodeName as the requesting node',
  ],
  [
    'a slice of the devices of another over to itself',
    { of: slices, operation: 'UPDATE', old: slice('n2'), object: slice('n1') },
    'can only update ResourceSlice with the same NodeName as the requesting node',
  ],
  [
    'the end of a slice of no node',
    { of: slices, operation: 'DELETE', old: slice() },
    'can only delete ResourceSlice with the same NodeName as the requesting node',
  ],
  [
    'a request for a certificate that can not be read',
    {
      of: 'certificates.k8s.io/v1/certificatesigningrequests',
      namespace: '',
      object: { spec: { signerName: 'kubernetes.io/kubelet-serving', request: '' } },
    },
    'unable to parse csr: PEM block type must be CERTIFICATE REQUEST',
  ],
  [
    'a request for a certificate of others',
    {
      of: 'certificates.k8s.io/v1/certificatesigningrequests',
      namespace: '',
      object: { spec: { signerName: 'example.com/x', request: '' } },
    },
    undefined,
  ],
  ['a config map, as far as this plugin is asked', { of: '/v1/configmaps', object: {} }, undefined],
]);

const token = (reference: object | undefined, audiences: string[] = ['trusted']): Write => ({
  of: '/v1/serviceaccounts',
  subresource: 'token',
  object: { spec: { audiences, boundObjectRef: reference } },
});
const podRef = (name: string): object => ({ kind: 'Pod', apiVersion: 'v1', name, uid: `uid-${name}` });

table('a node asks for a token', [
  ['of a pod of its own, for whom it has a right', token(podRef('mine')), undefined],
  ['for whom the pod asks', token(podRef('asking'), ['a']), undefined],
  [
    'for whom the pod does not ask',
    token(podRef('mine'), ['a']),
    'audience "a" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience',
  ],
  ['for two', token(podRef('mine'), ['a', 'b']), 'node may only request 0 or 1 audiences'],
  ['of nobody', token(undefined), 'node requested token not bound to a pod'],
  ['of a secret', token({ ...podRef('mine'), kind: 'Secret' }), 'node requested token not bound to a pod'],
  [
    'of any pod of a name',
    token({ ...podRef('mine'), uid: '' }),
    'node requested token with a pod binding without a uid',
  ],
  ['of a pod that is not there', token(podRef('none')), 'pods "none" not found'],
  [
    'of an earlier pod',
    token({ ...podRef('mine'), uid: 'old' }),
    'the UID in the bound object reference (old) does not match the UID in record. The object might have been deleted and then recreated',
  ],
  [
    'of a pod elsewhere',
    token(podRef('theirs')),
    'node requested token bound to a pod scheduled on a different node',
  ],
]);

table('others', [
  ['whoever is no node may', { of: ofPods, object: {}, user: { name: 'u', groups: [] } }, undefined],
  [
    'a node without a name may nothing',
    { of: '/v1/configmaps', object: {}, user: { name: 'system:node:', groups: ['system:nodes'] } },
    'could not determine node from user "system:node:"',
  ],
]);
