// What an update of a Service keeps and drops: a table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service, ServiceSpec } from '../../api/generated/types/core-v1.ts';
import { carryOver, dropStale, normalizeClusterIps } from './carry-over-service.ts';

const service = (spec: ServiceSpec): Service => ({ metadata: { name: 's' }, spec });

const stored: ServiceSpec = {
  type: 'NodePort',
  clusterIP: '10.96.0.9',
  clusterIPs: ['10.96.0.9'],
  ipFamilies: ['IPv4'],
  ipFamilyPolicy: 'SingleStack',
  ports: [
    { port: 80, protocol: 'TCP', nodePort: 30_080 },
    { port: 53, protocol: 'UDP', nodePort: 30_053 },
  ],
};
const address = {
  clusterIP: '10.96.0.9',
  clusterIPs: ['10.96.0.9'],
  ipFamilies: ['IPv4'],
  ipFamilyPolicy: 'SingleStack',
};

const cases: readonly (readonly [name: string, old: ServiceSpec, sent: ServiceSpec, kept: ServiceSpec])[] = [
  [
    'address, families and node ports that an update leaves out',
    stored,
    { type: 'NodePort', ports: [{ port: 80 }, { port: 53, protocol: 'UDP' }] },
    {
      type: 'NodePort',
      ...address,
      ports: [
        { port: 80, nodePort: 30_080 },
        { port: 53, protocol: 'UDP', nodePort: 30_053 },
      ],
    },
  ],
  [
    'no node port of another protocol, and none that the update gives to another port',
    stored,
    {
      type: 'NodePort',
      ports: [
        { port: 80, nodePort: 30_053 },
        { port: 53, protocol: 'TCP' },
        { port: 53, protocol: 'UDP' },
      ],
    },
    {
      type: 'NodePort',
      ...address,
      ports: [
        { port: 80, nodePort: 30_053 },
        { port: 53, protocol: 'TCP' },
        { port: 53, protocol: 'UDP' },
      ],
    },
  ],
  [
    'the address, but no node ports, when the type takes none',
    stored,
    { type: 'ClusterIP', ports: [{ port: 80, nodePort: 30_080 }] },
    { type: 'ClusterIP', ...address, ports: [{ port: 80 }] },
  ],
  [
    'nothing, when it becomes a name',
    stored,
    {
      type: 'ExternalName',
      externalName: 'example.com',
      clusterIP: '10.96.0.9',
      clusterIPs: ['10.96.0.9'],
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      internalTrafficPolicy: 'Cluster',
      ports: [],
    },
    { type: 'ExternalName', externalName: 'example.com', ports: [] },
  ],
  [
    'an address that is said',
    { type: 'ExternalName', externalName: 'example.com' },
    { type: 'ClusterIP', clusterIP: '10.96.0.7', ports: [] },
    { type: 'ClusterIP', clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7'], ports: [] },
  ],
  [
    'the port of the health check as long as there is one',
    { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 31_000 },
    { type: 'LoadBalancer', externalTrafficPolicy: 'Local' },
    { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 31_000 },
  ],
  [
    'nothing that only balancers have, when it is none any more',
    {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Cluster',
      allocateLoadBalancerNodePorts: true,
      loadBalancerClass: 'example.com/a',
    },
    {
      type: 'ClusterIP',
      externalTrafficPolicy: 'Cluster',
      allocateLoadBalancerNodePorts: true,
      loadBalancerClass: 'example.com/a',
    },
    { type: 'ClusterIP' },
  ],
  [
    'what is said anew and does not fit, for it to be refused',
    { type: 'LoadBalancer', externalTrafficPolicy: 'Cluster' },
    { type: 'ClusterIP', externalTrafficPolicy: 'Local' },
    { type: 'ClusterIP', externalTrafficPolicy: 'Local' },
  ],
  [
    'no port of a health check that there is no more',
    { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 31_000 },
    { type: 'LoadBalancer', externalTrafficPolicy: 'Cluster', healthCheckNodePort: 31_000 },
    { type: 'LoadBalancer', externalTrafficPolicy: 'Cluster' },
  ],
];

for (const [name, old, sent, kept] of cases)
  test(`an update keeps ${name}`, () => {
    const before = service(structuredClone(old));
    const after = service(structuredClone(sent));
    carryOver(after, before);
    normalizeClusterIps(after, before);
    dropStale(after, before);
    assert.deepEqual(after.spec, kept);
    assert.deepEqual(before.spec, old);
  });

test('clusterIPs says what clusterIP does after a creation, and not the other way round', () => {
  for (const [sent, said] of [
    [{ clusterIPs: ['10.96.0.7'] }, { clusterIPs: ['10.96.0.7'] }],
    [{ clusterIP: 'None' }, { clusterIP: 'None', clusterIPs: ['None'] }],
    [{}, {}],
  ] as const) {
    const one = service({ ...sent } as ServiceSpec);
    normalizeClusterIps(one);
    assert.deepEqual(one.spec, said);
  }
});
