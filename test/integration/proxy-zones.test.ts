// The proxy follows its node: in which zone it is decides which endpoints are near.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../src/api/generated/types/core-v1.ts';
import { startMemoryProxy } from '../harness/memory-proxy.ts';

const node = (name: string, zone?: string): Node => ({
  metadata: { name, labels: zone === undefined ? {} : { 'topology.kubernetes.io/zone': zone } },
  spec: {},
});
const near = (ip: string, zone: string) => ({
  addresses: [ip],
  nodeName: `node-of-${zone}`,
  zone,
  conditions: { ready: true },
  hints: { forZones: [{ name: zone }] },
});

test("hints to zones are followed by the node's label, also when it is set or changed later", async (t) => {
  const { nodes, packetFilter, written } = await startMemoryProxy(t, {
    nodes: [node('n1'), node('other', 'b')],
    services: [
      { metadata: { name: 'web', namespace: 'd' }, spec: { clusterIP: '10.96.0.9', ports: [{ port: 80 }] } },
    ],
    slices: [
      {
        metadata: { name: 'web-1', namespace: 'd', labels: { 'kubernetes.io/service-name': 'web' } },
        addressType: 'IPv4',
        ports: [{ name: '', port: 8080, protocol: 'TCP' }],
        endpoints: [near('10.244.1.5', 'a'), near('10.244.2.6', 'b')],
      },
    ],
  });
  const first = packetFilter.applied.join('');
  assert.ok(first.includes('10.244.1.5') && first.includes('10.244.2.6'), 'no zone: all of them');

  const movedTo = (zone: string): Promise<string> => written(() => nodes.put(node('n1', zone)));
  // of the two endpoints one is left: the element of the only one is written anew
  const added = (text: string): string[] => text.match(/add element .*endpoints .*/g) ?? [];
  const toB = added(await movedTo('b')).join('');
  assert.ok(toB.includes('10.244.2.6') && !toB.includes('10.244.1.5'), toB);
  const toA = added(await movedTo('a')).join('');
  assert.ok(toA.includes('10.244.1.5') && !toA.includes('10.244.2.6'), toA);
});
