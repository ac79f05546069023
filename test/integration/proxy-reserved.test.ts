// No Service has an address by which nodes work, also when it becomes known later which one that is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service } from '../../src/api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../src/api/generated/types/discovery-v1.ts';
import { startMemoryProxy } from '../harness/memory-proxy.ts';

const [resolver, apiServer] = ['192.0.2.53', '203.0.113.6'];
const service: Service = {
  metadata: { name: 'greedy', namespace: 'd' },
  spec: { clusterIP: '10.96.0.9', externalIPs: [resolver, apiServer, '203.0.113.7'], ports: [{ port: 53 }] },
};
const slice: EndpointSlice = {
  metadata: { name: 'greedy-1', namespace: 'd', labels: { 'kubernetes.io/service-name': 'greedy' } },
  addressType: 'IPv4',
  ports: [{ name: '', port: 53, protocol: 'TCP' }],
  endpoints: [{ addresses: ['10.244.1.5'], conditions: { ready: true } }],
};

test('an address that is reserved later is taken from the Services that have it, and given back', async (t) => {
  const { proxy, packetFilter, written } = await startMemoryProxy(t, {
    services: [service],
    slices: [slice],
    reservedCIDRs: [`${resolver}/32`],
  });
  const first = packetFilter.applied.join('');
  assert.ok(first.includes('203.0.113.7') && first.includes(apiServer), first);
  assert.ok(!first.includes(resolver), first);

  const taken = await written(() => proxy.reserve([`${resolver}/32`, `${apiServer}/32`]));
  assert.match(taken, new RegExp(`delete element .*${apiServer.replaceAll('.', '\\.')}`));
  const back = await written(() => proxy.reserve([`${resolver}/32`]));
  assert.match(back, new RegExp(`add element .*${apiServer.replaceAll('.', '\\.')}`));
});
