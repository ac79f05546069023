// Over which node the machine reaches a load balancer's address.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Service } from '../api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../api/generated/types/discovery-v1.ts';
import { parseCidr } from '../base/ip.ts';
import { balancerRoutes } from './balancer-routes.ts';

const pool = parseCidr('172.30.0.128/25')!;
const node = (n: number, ready = 'True', labels: Record<string, string> = {}): Node => ({
  metadata: { name: `n${n}`, labels },
  spec: {},
  status: {
    addresses: [{ type: 'InternalIP', address: `172.30.0.${n}` }],
    conditions: [{ type: 'Ready', status: ready }],
  },
});
const service = (name: string, ip: string, spec: Partial<Service['spec']> = {}, created = ''): Service => ({
  metadata: { name, namespace: 'default', creationTimestamp: created },
  spec: { type: 'LoadBalancer', ...spec },
  status: { loadBalancer: { ingress: [{ ip }] } },
});
const slice = (...endpoints: [string, boolean, boolean][]): EndpointSlice => ({
  metadata: { name: 'x' },
  addressType: 'IPv4',
  endpoints: endpoints.map(([nodeName, ready, serving]) => ({
    addresses: ['10.244.0.1'],
    nodeName,
    conditions: { ready, serving },
  })),
});
const routes = (nodes: Node[], services: Service[], slices: EndpointSlice[] = []) =>
  balancerRoutes({ nodes, services, slicesOf: () => slices }, pool);

test('each address leads over one node that is ready, and stays there while it is', () => {
  const nodes = [1, 2, 3].map((n) => node(n));
  const services = Array.from({ length: 30 }, (_, i) => service(`s${i}`, `172.30.0.${200 + i}`));
  const before = routes(nodes, services);
  assert.equal(before.length, 30);
  assert.equal(new Set(before.map(({ via }) => via)).size, 3, 'all of them have some');
  const after = routes([node(1), node(2, 'Unknown'), node(3)], services);
  for (const [i, { to, via }] of before.entries())
    if (via === '172.30.0.2') assert.notEqual(after[i]?.via, via);
    else assert.deepEqual(after[i], { to, via });
  const excluded = { 'node.kubernetes.io/exclude-from-external-load-balancers': '' };
  assert.deepEqual(routes([node(1, 'False'), node(2, 'True', excluded)], services), []);
});

test('where traffic stays on its node the address leads to one with a pod that takes some', () => {
  const nodes = [1, 2, 3].map((n) => node(n));
  const local = [service('s', '172.30.0.200', { externalTrafficPolicy: 'Local' })];
  const via = (...endpoints: [string, boolean, boolean][]) =>
    routes(nodes, local, [slice(...endpoints)]).map((route) => route.via);
  assert.deepEqual(via(['n2', true, true], ['n3', false, true]), ['172.30.0.2']);
  assert.deepEqual(via(['n2', false, false], ['n3', false, true]), ['172.30.0.3']);
  assert.deepEqual(via(['n2', false, false]), []);
});

test('an address that is none of the pool, or that an older Service has, leads nowhere for this one', () => {
  const nodes = [node(1)];
  const made = routes(nodes, [
    service('foreign', '192.0.2.1'),
    service('node', '172.30.0.1'),
    service('text', 'nonsense'),
    service('young', '172.30.0.200', { externalTrafficPolicy: 'Local' }, '2026-02-01T00:00:00Z'),
    service('old', '172.30.0.200', {}, '2026-01-01T00:00:00Z'),
    service('other', '172.30.0.201', { type: 'ClusterIP' }),
  ]);
  assert.deepEqual(made, [{ to: '172.30.0.200', via: '172.30.0.1' }]);
});
