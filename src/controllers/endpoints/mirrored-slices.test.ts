// What of Endpoints becomes slices.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Endpoints, Service } from '../../api/generated/types/core-v1.ts';
import { isMirrored, mirroredSlices } from './mirrored-slices.ts';

const endpoints = (more: Partial<Endpoints> = {}): Endpoints => ({
  metadata: { name: 'db', namespace: 'n', labels: { tier: 'x' }, annotations: { note: 'y' } },
  subsets: [
    {
      addresses: [{ ip: '10.1.2.3' }, { ip: 'fd00::1' }],
      notReadyAddresses: [{ ip: '10.1.2.4' }],
      ports: [{ name: 'sql', port: 5432, protocol: 'TCP' }],
    },
  ],
  ...more,
});

describe('mirroredSlices', () => {
  it('makes a slice for each family', () => {
    const { create } = mirroredSlices(endpoints(), []);
    assert.deepEqual(
      create.map((slice) => [
        slice.addressType,
        (slice.endpoints ?? []).map((e) => [e.addresses[0], e.conditions?.ready]),
      ]),
      [
        [
          'IPv4',
          [
            ['10.1.2.3', true],
            ['10.1.2.4', false],
          ],
        ],
        ['IPv6', [['fd00::1', true]]],
      ],
    );
    assert.deepEqual(create[0]?.metadata.labels, {
      tier: 'x',
      'kubernetes.io/service-name': 'db',
      'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
    });
    assert.deepEqual(create[0]?.metadata.annotations, { note: 'y' });
    assert.equal(create[0]?.metadata.ownerReferences?.[0]?.kind, 'Endpoints');
  });
  it('changes nothing when nothing changed, and removes what is left of endpoints that are gone', () => {
    const { create } = mirroredSlices(endpoints(), []);
    assert.deepEqual(mirroredSlices(endpoints(), create), { create: [], update: [], remove: [] });
    assert.equal(mirroredSlices(undefined, create).remove.length, 2);
    assert.equal(mirroredSlices(endpoints({ subsets: [] }), create).remove.length, 2);
  });
});

describe('isMirrored', () => {
  const service = { metadata: { name: 'db' }, spec: {} } as Service;
  it('leaves alone what is made from pods, skipped or a lock of leaders', () => {
    assert.ok(isMirrored(endpoints(), service));
    assert.ok(!isMirrored(endpoints(), undefined));
    assert.ok(!isMirrored(endpoints(), { ...service, spec: { selector: { a: 'b' } } }));
    const withMeta = (metadata: object): Endpoints => endpoints({ metadata: { name: 'db', ...metadata } });
    assert.ok(
      !isMirrored(withMeta({ labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }), service),
    );
    assert.ok(
      !isMirrored(withMeta({ annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } }), service),
    );
  });
});
