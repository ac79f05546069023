// What nobody owns through a subresource: every one that puts something back says so.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScheme } from '../../api/scheme.ts';
import { limitsOf, otherVersionsOf } from './owned-versions.ts';

const scheme = createScheme();
const of = (group: string, resource: string, subresource = ''): string[] => {
  const declaration = scheme.resources().find((d) => d.group === group && d.resource === resource);
  assert.ok(declaration, resource);
  return (limitsOf(declaration, subresource).resetFields ?? []).map((path) => path.join('.'));
};

test('what a strategy puts back is owned by nobody', () => {
  assert.deepEqual(of('', 'configmaps'), []);
  assert.deepEqual(of('', 'pods'), ['status']);
  assert.deepEqual(of('', 'nodes', 'status'), ['spec']);
  assert.deepEqual(of('', 'pods', 'status'), [
    'spec',
    'metadata.deletionTimestamp',
    'metadata.ownerReferences',
  ]);
  assert.deepEqual(of('apps', 'deployments', 'status'), ['spec', 'metadata.labels']);
  assert.deepEqual(of('apps', 'deployments', 'scale'), []);
  const requests = ['certificates.k8s.io', 'certificatesigningrequests'] as const;
  assert.deepEqual(of(...requests), ['spec', 'status']);
  assert.deepEqual(of(...requests, 'approval'), ['spec', 'status.certificate']);
  assert.deepEqual(of(...requests, 'status'), ['spec', 'status.conditions']);
  // Its strategy leaves metadata as sent.
  assert.deepEqual(of('apiextensions.k8s.io', 'customresourcedefinitions', 'status'), ['spec']);
  for (const [group, resource] of [
    ['admissionregistration.k8s.io', 'validatingadmissionpolicies'],
    ['apiregistration.k8s.io', 'apiservices'],
    ['flowcontrol.apiserver.k8s.io', 'flowschemas'],
    ['flowcontrol.apiserver.k8s.io', 'prioritylevelconfigurations'],
    ['resource.k8s.io', 'resourceclaims'],
    ['storage.k8s.io', 'volumeattachments'],
  ] as const)
    assert.deepEqual(of(group, resource, 'status'), ['spec', 'metadata']);
  assert.deepEqual(of('networking.k8s.io', 'servicecidrs', 'status'), []);
  const strategy = { keptByStatus: 'all' } as const;
  const custom = { group: 'e.com', resource: 'pods', custom: true, hasStatus: true, strategy };
  assert.deepEqual(limitsOf(custom, 'status'), { resetFields: [['spec'], ['metadata']] });
  assert.deepEqual(limitsOf(custom, ''), { resetFields: [['status']] });
});

test('of a subresource that writes a part of the spec, that part is all that is owned through it', () => {
  const pods = scheme.resources().find(({ resource }) => resource === 'pods')!;
  const paths = (subresource: string): string[] =>
    (limitsOf(pods, subresource).onlyFields ?? []).map((path) => path.join('.'));
  assert.deepEqual(paths('ephemeralcontainers'), ['spec.ephemeralContainers']);
  assert.deepEqual(paths('resize'), [
    'spec.containers.*.resources',
    'spec.containers.*.resizePolicy',
    'spec.initContainers.*.resources',
    'spec.initContainers.*.resizePolicy',
  ]);
  const custom = { group: '', resource: 'pods', custom: true, hasStatus: true };
  assert.equal(limitsOf(custom, 'resize').onlyFields, undefined);
});

test('only versions of the same objects are versions of a kind', () => {
  const one = scheme.resource('autoscaling', 'v1', 'horizontalpodautoscalers')!;
  const versions = otherVersionsOf(scheme, one, '');
  assert.equal(versions('autoscaling/v2')?.type, 'io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler');
  assert.equal(versions('autoscaling/v1')?.type, 'io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler');
  for (const other of [
    'autoscaling/v2beta2',
    'apps/v1',
    'v1',
    '',
    '/',
    'a/b/c',
    'autoscaling/',
    '/v2',
    '__proto__',
  ])
    assert.equal(versions(other), undefined, other);
  const events = otherVersionsOf(scheme, scheme.resource('', 'v1', 'events')!, '');
  assert.equal(events('events.k8s.io/v1')?.type, 'io.k8s.api.events.v1.Event');
  const scale = { group: 'autoscaling', version: 'v1', kind: 'Scale', type: 'x', hasStatus: false };
  assert.equal(otherVersionsOf(scheme, scale, 'scale')('apps/v1'), undefined);
});
