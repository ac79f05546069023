// What a namespace's Services may cost a node, through the whole proxy: who waits for room gets it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service } from '../../src/api/generated/types/core-v1.ts';
import { eventually } from '../harness/eventually.ts';
import { startMemoryProxy } from '../harness/memory-proxy.ts';

const externalIPs = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `203.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
const service = (name: string, clusterIP: string, portCount: number, addresses: number): Service => ({
  metadata: { name, namespace: 'd' },
  spec: {
    clusterIP,
    ports: Array.from({ length: portCount }, (_, i) => ({ name: `p${i}`, port: i + 1 })),
    externalIPs: externalIPs(addresses),
  },
});

test('a Service that waits for room gets it when room is made right after it was looked at in vain', async (t) => {
  const large = ['a', 'b', 'c', 'd'].map((name, i) => service(name, `10.96.0.${i + 1}`, 50, 980));
  const small = service('small', '10.96.0.99', 10, 500);
  const nodes = [{ metadata: { name: 'n1' }, spec: {} }];
  const { services, packetFilter } = await startMemoryProxy(t, { nodes, services: [...large, small] });
  assert.ok(packetFilter.applied[0]!.includes('10.96.0.4'));
  assert.ok(!packetFilter.applied[0]!.includes('10.96.0.99'), 'no room is left for it');
  // one batch: the one that waits, then the one that makes room for it
  services.put({ ...small });
  services.remove('a', 'd');
  await eventually(() => assert.ok(packetFilter.applied.slice(1).join('').includes('10.96.0.99')));
});
