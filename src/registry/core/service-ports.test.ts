// Which ports a Service asks for: a table of Services, before and after.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service, ServiceSpec } from '../../api/generated/types/core-v1.ts';
import { nodePortsOf, portWishes } from './service-ports.ts';

const service = (spec: ServiceSpec): Service => ({ metadata: { name: 's' }, spec });
const nodePort = (...ports: NonNullable<ServiceSpec['ports']>): Service =>
  service({ type: 'NodePort', ports });

const cases: readonly (readonly [
  name: string,
  service: Service,
  old: Service | undefined,
  wished: readonly string[],
  /** Node ports, in order, when what may be any number is 1, 2 … */
  given: readonly (number | undefined)[],
])[] = [
  ['a cluster IP alone asks for none', service({ ports: [{ port: 80 }] }), undefined, [], [undefined]],
  [
    'a NodePort asks for any, one for each port',
    nodePort({ port: 80 }, { port: 443 }),
    undefined,
    ['any at spec.ports[0].nodePort', 'any at spec.ports[1].nodePort'],
    [1, 2],
  ],
  [
    'a number that is said is asked for',
    nodePort({ port: 80, nodePort: 30_001 }),
    undefined,
    ['30001 at spec.ports[0].nodePort'],
    [30_001],
  ],
  [
    'protocols of one port share a number that may be any',
    nodePort({ port: 53, protocol: 'UDP' }, { port: 53, protocol: 'TCP' }),
    undefined,
    ['any at spec.ports[0].nodePort'],
    [1, 1],
  ],
  [
    'protocols of one port share the number that one of them says, wherever it stands',
    nodePort({ port: 53, protocol: 'UDP' }, { port: 53, protocol: 'TCP', nodePort: 30_053 }),
    undefined,
    ['30053 at spec.ports[1].nodePort'],
    [30_053, 30_053],
  ],
  [
    'a number that two protocols say is asked for once',
    nodePort(
      { port: 53, protocol: 'UDP', nodePort: 30_053 },
      { port: 53, protocol: 'TCP', nodePort: 30_053 },
    ),
    undefined,
    ['30053 at spec.ports[0].nodePort'],
    [30_053, 30_053],
  ],
  [
    'what the Service has is not asked for again',
    nodePort({ port: 80, nodePort: 30_001 }, { port: 81, nodePort: 30_002 }),
    nodePort({ port: 80, nodePort: 30_001 }),
    ['30002 at spec.ports[1].nodePort'],
    [30_001, 30_002],
  ],
  [
    'a load balancer that wants no node ports gets those that it names',
    service({
      type: 'LoadBalancer',
      allocateLoadBalancerNodePorts: false,
      ports: [{ port: 80 }, { port: 81, nodePort: 30_001 }],
    }),
    undefined,
    ['30001 at spec.ports[1].nodePort'],
    [undefined, 30_001],
  ],
];

for (const [name, asked, old, wished, given] of cases)
  test(name, () => {
    const wishes = portWishes(asked, old);
    const texts = wishes.map((wish) => `${wish.asked ?? 'any'} at ${wish.field}`);
    assert.deepEqual(texts, wished);
    let next = 1;
    for (const wish of wishes) if (wish.asked === undefined) wish.give(next++);
    assert.deepEqual(
      asked.spec?.ports?.map((port) => port.nodePort),
      given,
    );
  });

test('a load balancer of local traffic asks for the port of its health check, and keeps it', () => {
  const spec: ServiceSpec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports: [] };
  const fresh = service({ ...spec });
  const [wish, ...others] = portWishes(fresh, undefined);
  assert.deepEqual([wish?.asked, wish?.field, others], [undefined, 'spec.healthCheckNodePort', []]);
  wish?.give(31_000);
  assert.equal(fresh.spec?.healthCheckNodePort, 31_000);
  assert.deepEqual(portWishes(fresh, fresh), []);
  assert.deepEqual(nodePortsOf(fresh), [31_000]);
  const named = portWishes(service({ ...spec, healthCheckNodePort: 31_001 }), undefined);
  assert.deepEqual(
    named.map(({ asked, field }) => [asked, field]),
    [[31_001, 'spec.healthCheckNodePort']],
  );
});
