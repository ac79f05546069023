// Nothing is stored in silence: what no part of Porthole acts on yet is accepted with a `Warning` that says so.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { JsonObject } from '../../src/apimachinery/declaration.ts';
import { type Answer, startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';

const plane = await startTestControlPlane();
after(() => plane.close());

const crd = (plural: string, schema: JsonObject, more: JsonObject = {}): JsonObject => ({
  metadata: { name: `${plural}.example.com` },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural, kind: plural },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    ...more,
  },
});
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const rule = { 'x-kubernetes-validations': [{ rule: 'has(self.metadata)' }] };

const storage = '/apis/storage.k8s.io/v1';
const classes = '/apis/scheduling.k8s.io/v1/priorityclasses';
const sets = '/apis/apps/v1/namespaces/default/statefulsets';
const set = (name: string, retention: JsonObject, maxUnavailable?: number): JsonObject => ({
  metadata: { name },
  spec: {
    serviceName: 's',
    selector: { matchLabels: { a: 'b' } },
    template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    persistentVolumeClaimRetentionPolicy: retention,
    ...(maxUnavailable === undefined
      ? {}
      : { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable } } }),
  },
});

const rows: readonly (readonly [url: string, body: JsonObject, said: RegExp | undefined])[] = [
  [crds, crd('ruled', { type: 'object', ...rule }), undefined],
  [crds, crd('plain', { type: 'object' }), undefined],
  [
    '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies',
    { spec: { podSelector: {}, policyTypes: ['Ingress'] } },
    /does not apply network policies/,
  ],
  [
    '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
    { spec: { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'a', apiVersion: 'apps/v1' } } },
    undefined,
  ],
  ['/api/v1/namespaces/default/configmaps', { data: { a: 'b' } }, undefined],
  [sets, set('kept', { whenDeleted: 'Retain', whenScaled: 'Delete' }, 3), undefined],
  [
    '/api/v1/namespaces/default/secrets',
    {
      metadata: { name: 'token', annotations: { 'kubernetes.io/service-account.name': 'default' } },
      type: 'kubernetes.io/service-account-token',
    },
    undefined,
  ],
  ['/api/v1/namespaces/default/secrets', { metadata: { name: 'opaque' }, type: 'Opaque' }, undefined],
  [`${storage}/storageclasses`, { provisioner: 'x', allowVolumeExpansion: true }, /makes volumes larger/],
  [`${storage}/storageclasses`, { metadata: { name: 'fixed' }, provisioner: 'x' }, undefined],
  [`${storage}/volumeattributesclasses`, { driverName: 'x', parameters: { a: 'b' } }, /changes attributes/],
  [
    `${storage}/volumeattachments`,
    { spec: { attacher: 'x', nodeName: 'n', source: { persistentVolumeName: 'v' } } },
    /attaches volumes/,
  ],
  [
    '/api/v1/namespaces/default/persistentvolumeclaims',
    {
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        volumeAttributesClassName: 'x',
      },
    },
    /volumeAttributesClassName/,
  ],
  [
    '/api/v1/namespaces/default/pods',
    {
      spec: {
        os: { name: 'linux' },
        containers: [{ name: 'c', image: 'i', lifecycle: { stopSignal: 'SIGUSR1' } }],
      },
    },
    /lifecycle.stopSignal/,
  ],
  [classes, { value: 1000 }, undefined],
  ['/apis/networking.k8s.io/v1/servicecidrs', { spec: { cidrs: ['fd00::/112'] } }, /IPv4 only/],
  [
    '/apis/networking.k8s.io/v1/servicecidrs',
    { metadata: { name: 'v4' }, spec: { cidrs: ['10.100.0.0/16'] } },
    undefined,
  ],
];

function typeOf(url: string): JsonObject {
  const [, prefix, first, second] = url.split('/');
  const apiVersion = prefix === 'api' ? first! : `${first}/${second}`;
  const resource = url.slice(url.lastIndexOf('/') + 1);
  const [group, version] = prefix === 'api' ? ['', first!] : [first!, second!];
  const declaration = plane.controlPlane.api.scheme.resource(group, version, resource);
  return { apiVersion, kind: declaration!.kind };
}

test('what is not enforced yet is said at each create, apply and update', async () => {
  // No controller makes it here, and no pod is let in without.
  await plane.ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  for (const [url, given, said] of rows) {
    const metadata = { name: 'unenforced', ...(given['metadata'] as JsonObject | undefined) };
    const name = String(metadata.name);
    const body: JsonObject = { ...given, metadata };
    const fits = (answer: Answer, what: string): void => {
      assert.ok([200, 201].includes(answer.status), `${what} ${url} ${answer.status}`);
      const matching = answer.warnings.filter((w) => /^299 - "not enforced: /.test(w) && said?.test(w));
      assert.equal(matching.length, said === undefined ? 0 : 1, `${what} ${url} ${answer.warnings.join()}`);
    };
    fits(await plane.ask('POST', url, body), 'create');
    fits(await plane.ask('PATCH', `${url}/${name}`, { metadata: { labels: { a: 'b' } } }), 'patch');
    const applied = { ...body, ...typeOf(url) };
    const apply = `${url}/${name}?fieldManager=x&force=1`;
    fits(await plane.ask('PATCH', apply, applied, { contentType: 'application/apply-patch+yaml' }), 'apply');
  }
});
