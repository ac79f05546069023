// Rules of the proxy from Services and slices, type by type and policy by policy.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service, ServiceSpec } from '../api/generated/types/core-v1.ts';
import type { Endpoint, EndpointSlice } from '../api/generated/types/discovery-v1.ts';
import { parseCidr } from '../base/ip.ts';
import { countReads } from '../base/testing/counted-reads.ts';
import { atOnce } from '../base/turns.ts';
import { type Outcome, type WalkedPacket, walk } from './backends/memory/packet-walk.ts';
import { flowsPast, staleFlows } from './conntrack-cleanup.ts';
import { desiredRules } from './desired-rules.ts';

const rulesNow = (...of: Parameters<typeof desiredRules>) => atOnce(desiredRules(...of));
const staleNow = (...of: Parameters<typeof staleFlows>) => atOnce(staleFlows(...of));
const pastNow = (...of: Parameters<typeof flowsPast>) => atOnce(flowsPast(...of));

const reserved = ['10.244.0.0/16', '10.96.0.0/16', '172.30.0.1/32'].map((cidr) => parseCidr(cidr)!);
const node = { name: 'n1', zone: 'a', reserved };
const here = { clusterCIDR: '10.244.0.0/16', addresses: ['172.30.0.2', '127.0.0.1'] };
const pod = '10.244.1.9';
const client = '198.51.100.2';
const own = '172.30.0.2';

const service = (spec: ServiceSpec, ingress?: { ip: string; ipMode?: string }[]): Service => ({
  metadata: { name: 's', namespace: 'default' },
  spec: { clusterIP: '10.96.0.1', ports: [{ port: 80 }], ...spec },
  status: { loadBalancer: { ingress } },
});
const endpoint = (ip: string, nodeName: string, conditions = {}, more: Partial<Endpoint> = {}): Endpoint => ({
  addresses: [ip],
  nodeName,
  conditions: { ready: true, serving: true, terminating: false, ...conditions },
  ...more,
});
const slice = (
  endpoints: Endpoint[],
  ports = [{ name: '', port: 8080, protocol: 'TCP' }],
): EndpointSlice => ({
  metadata: { name: 's-1', namespace: 'default' },
  addressType: 'IPv4',
  endpoints,
  ports,
});
const near = endpoint('10.244.1.2', 'n1');
const far = endpoint('10.244.2.2', 'n2');

function outcome(one: Service, endpoints: Endpoint[], packet: Partial<WalkedPacket>): Outcome {
  const rules = rulesNow(one, [slice(endpoints)], node);
  return walk([rules], { from: pod, to: '10.96.0.1', protocol: 'tcp', port: 80, ...packet }, here);
}
const to = (masqueraded: boolean, ...ips: string[]): Outcome => ({
  kind: 'redirected',
  to: ips.map((ip) => `${ip}:8080`),
  masqueraded,
});

test('a ClusterIP keeps the address of pods and hides every other', () => {
  assert.deepEqual(outcome(service({}), [near, far], {}), to(false, '10.244.1.2', '10.244.2.2'));
  assert.deepEqual(outcome(service({}), [near, far], { from: own }), to(true, '10.244.1.2', '10.244.2.2'));
  assert.deepEqual(outcome(service({}), [near], { from: '10.244.1.2' }), to(true, '10.244.1.2'), 'hairpin');
});

test('who has no endpoints is refused; a policy of Local without a pod here drops', () => {
  assert.deepEqual(outcome(service({}), [], {}), { kind: 'rejected' });
  assert.deepEqual(outcome(service({}), [near], { port: 81 }), { kind: 'rejected' });
  assert.deepEqual(
    outcome(service({ internalTrafficPolicy: 'Local' }), [near, far], {}),
    to(false, '10.244.1.2'),
  );
  assert.deepEqual(outcome(service({ internalTrafficPolicy: 'Local' }), [far], {}), { kind: 'dropped' });
  assert.deepEqual(outcome(service({ internalTrafficPolicy: 'Local' }), [], {}), { kind: 'rejected' });
});

test('a node port under both policies, from outside, from a pod and from the node', () => {
  const spec = (externalTrafficPolicy: string): Service =>
    service({ type: 'NodePort', externalTrafficPolicy, ports: [{ port: 80, nodePort: 30080 }] });
  const at = { to: own, port: 30080 };
  assert.deepEqual(
    outcome(spec('Cluster'), [near, far], { ...at, from: client }),
    to(true, '10.244.1.2', '10.244.2.2'),
  );
  assert.deepEqual(outcome(spec('Local'), [near, far], { ...at, from: client }), to(false, '10.244.1.2'));
  assert.deepEqual(outcome(spec('Local'), [far], { ...at, from: client }), { kind: 'dropped' });
  assert.deepEqual(outcome(spec('Local'), [far], at), to(false, '10.244.2.2'));
  assert.deepEqual(outcome(spec('Local'), [far], { ...at, from: own }), to(true, '10.244.2.2'));
  assert.deepEqual(outcome(spec('Local'), [], { ...at, from: client }), { kind: 'rejected' });
  assert.deepEqual(outcome(spec('Cluster'), [near], { ...at, to: '127.0.0.1' }), { kind: 'untouched' });
});

test('external and load balancer addresses are served; source ranges keep others out; ipMode Proxy is left alone', () => {
  const balanced = service(
    { type: 'LoadBalancer', loadBalancerSourceRanges: ['198.51.100.0/24'], externalIPs: ['203.0.113.1'] },
    [{ ip: '203.0.113.2' }, { ip: '203.0.113.3', ipMode: 'Proxy' }],
  );
  assert.deepEqual(
    outcome(balanced, [far], { to: '203.0.113.1', from: '192.0.2.1' }),
    to(true, '10.244.2.2'),
  );
  assert.deepEqual(outcome(balanced, [far], { to: '203.0.113.2', from: client }), to(true, '10.244.2.2'));
  assert.deepEqual(outcome(balanced, [far], { to: '203.0.113.2', from: '192.0.2.1' }), { kind: 'dropped' });
  assert.deepEqual(outcome(balanced, [far], { to: '203.0.113.3', from: client }), { kind: 'untouched' });
});

test('source ranges in one another, or with bits of a host, are told as the kernel takes them', () => {
  const balanced = service(
    {
      type: 'LoadBalancer',
      loadBalancerSourceRanges: [
        ' 10.1.0.0/16',
        '10.0.0.5/8',
        '10.0.0.0/8',
        '192.0.2.7/32',
        '198.51.100.9/24',
        '10.255.255.255/32',
      ],
    },
    [{ ip: '203.0.113.2' }],
  );
  const { frontends } = rulesNow(balanced, [slice([far])], node);
  assert.deepEqual(frontends.find(({ ip }) => ip === '203.0.113.2')?.allowedSources, [
    '10.0.0.0/8',
    '192.0.2.7/32',
    '198.51.100.0/24',
  ]);
});

test('source ranges: none, or one that holds every address, keep nobody out; of the other family alone, everybody', () => {
  const sources = (ranges: string[] | undefined): readonly string[] | undefined =>
    rulesNow(
      service({ type: 'LoadBalancer', loadBalancerSourceRanges: ranges }, [{ ip: '203.0.113.2' }]),
      [slice([far])],
      node,
    ).frontends.find(({ ip }) => ip === '203.0.113.2')?.allowedSources;
  for (const open of [undefined, [], [' 0.0.0.0/0'], ['192.0.2.0/24', '0.0.0.0/0']])
    assert.equal(sources(open), undefined, String(open));
  assert.deepEqual(sources(['2001:db8::/32', '192.0.2.0/24']), ['192.0.2.0/24']);
  assert.deepEqual(sources(['::/0']), []);
});

test("nobody leads the cluster's own packets away: pods, ClusterIPs, the API server, loopback, link-local", () => {
  const taken = [
    '172.30.0.1',
    '10.96.0.10',
    '10.244.0.4',
    '127.0.0.1',
    '169.254.169.254',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
  ];
  const hostile = service(
    { type: 'LoadBalancer', externalIPs: taken },
    taken.map((ip) => ({ ip })),
  );
  for (const address of taken)
    assert.deepEqual(outcome(hostile, [far], { to: address }), { kind: 'untouched' }, address);
  for (const address of ['127.0.0.1', '169.254.169.254', '0.0.0.0', '224.0.0.1'])
    assert.deepEqual(outcome(service({}), [endpoint(address, 'n1')], {}), { kind: 'rejected' }, address);
});

test("a Service of millions of elements has as many as a node holds, its own address first; the kubelet's port is nobody's", () => {
  const ports = Array.from({ length: 2000 }, (_, i) => ({ name: `p${i}`, port: i + 9000 }));
  const externalIPs = Array.from({ length: 2000 }, (_, i) => `5.0.${i >> 8}.${i & 255}`);
  const rules = rulesNow(
    service({ ports, externalIPs }),
    [
      slice(
        [near, far],
        ports.map(({ name }) => ({ name, port: 8080, protocol: 'TCP' })),
      ),
    ],
    node,
  );
  assert.equal(rules.isCut, true);
  assert.equal(rules.frontends.filter(({ isClusterIP }) => isClusterIP).length, 2000);
  assert.ok(rules.frontends.length < 50_000);
  assert.ok(!rules.frontends.some(({ isClusterIP, port }) => !isClusterIP && port === 10_250));
});

test('thousands of ports times thousands of addresses that nobody may have are not tried one by one', () => {
  const externalIPs = Array.from({ length: 20_000 }, (_, i) => `10.96.${i >> 8}.${i & 255}`);
  const { of, reads } = countReads(200_000);
  const ports = Array.from({ length: 4000 }, (_, i) => of({ name: `p${i}`, port: i + 9000 }));
  const rules = rulesNow(
    service(
      { type: 'LoadBalancer', ports, externalIPs },
      externalIPs.map((ip) => ({ ip })),
    ),
    [],
    node,
  );
  assert.equal(rules.frontends.length, 4000);
  assert.equal(rules.isCut, undefined);
  assert.ok(reads() >= 4000);
  // the same one over and over is one
  const again = service({ externalIPs: Array<string>(20_000).fill('203.0.113.1') });
  assert.equal(rulesNow(again, [slice([near])], node).frontends.length, 2);
});

test('nor are thousands of ports times thousands of endpoints that nobody is sent to', () => {
  const { of } = countReads(50_000);
  const idle = Array.from({ length: 1000 }, (_, i) =>
    of(endpoint(`10.244.${(i >> 8) + 1}.${i & 255}`, 'n2', { ready: false, serving: false })),
  );
  const ports = Array.from({ length: 4000 }, (_, i) => ({ name: `p${i}`, port: i + 1000 }));
  const served = ports.map(({ name }) => ({ name, port: 8080, protocol: 'TCP' }));
  const rules = rulesNow(service({ ports }), [slice(idle, served)], node);
  assert.equal(rules.isCut, true);
  assert.ok(rules.frontends.length > 100 && rules.frontends.length < 250, `${rules.frontends.length}`);
});

test('ready endpoints are used; when there are none, those that end but still serve', () => {
  const ending = endpoint('10.244.2.3', 'n2', { ready: false, terminating: true });
  const starting = endpoint('10.244.2.4', 'n2', { ready: false, serving: false });
  assert.deepEqual(outcome(service({}), [near, ending, starting], {}), to(false, '10.244.1.2'));
  assert.deepEqual(outcome(service({}), [ending, starting], {}), to(false, '10.244.2.3'));
  assert.deepEqual(outcome(service({}), [starting], {}), { kind: 'rejected' });
});

test('hints choose a zone or a node only when every endpoint has them and one is for us', () => {
  const zoned = (ip: string, zone: string): Endpoint =>
    endpoint(ip, 'n2', {}, { hints: { forZones: [{ name: zone }] } });
  const noded = (ip: string, name: string): Endpoint =>
    endpoint(ip, name, {}, { hints: { forNodes: [{ name }] } });
  assert.deepEqual(
    outcome(service({}), [zoned('10.244.2.5', 'a'), zoned('10.244.2.6', 'b')], {}),
    to(false, '10.244.2.5'),
  );
  assert.deepEqual(outcome(service({}), [zoned('10.244.2.6', 'b')], {}), to(false, '10.244.2.6'));
  assert.deepEqual(
    outcome(service({}), [zoned('10.244.2.5', 'a'), far], {}),
    to(false, '10.244.2.2', '10.244.2.5'),
  );
  assert.deepEqual(
    outcome(service({}), [noded('10.244.1.5', 'n1'), noded('10.244.2.6', 'n2')], {}),
    to(false, '10.244.1.5'),
  );
});

test('named ports are resolved slice by slice, and endpoints in two slices count once', () => {
  const named = service({ ports: [{ name: 'http', port: 80, targetPort: 'web' }] });
  const a = slice([near], [{ name: 'http', port: 8080, protocol: 'TCP' }]);
  const b = slice([far, near], [{ name: 'http', port: 9090, protocol: 'TCP' }]);
  const rules = rulesNow(named, [a, a, b, slice([far], [{ name: 'other', port: 1, protocol: 'TCP' }])], node);
  assert.deepEqual(
    rules.frontends[0]!.backends.map((x) => `${x.ip}:${x.port}`),
    ['10.244.1.2:8080', '10.244.1.2:9090', '10.244.2.2:9090'],
  );
});

test('headless, ExternalName and foreign services have no rules; hostile addresses are left out', () => {
  for (const one of [
    service({ clusterIP: 'None' }),
    service({ type: 'ExternalName', clusterIP: '' }),
    {
      ...service({}),
      metadata: {
        name: 's',
        namespace: 'default',
        labels: { 'service.kubernetes.io/service-proxy-name': 'x' },
      },
    },
  ])
    assert.deepEqual(rulesNow(one, [slice([near])], node).frontends, []);
  const hostile = service({ externalIPs: ['1.2.3.4 } ; flush ruleset', '::1', ''] });
  const rules = rulesNow(hostile, [slice([endpoint('10.0.0.1; drop', 'n1'), near])], node);
  assert.deepEqual(
    rules.frontends.map((f) => f.ip),
    ['10.96.0.1'],
  );
  assert.deepEqual(
    rules.frontends[0]!.backends.map((b) => b.ip),
    ['10.244.1.2'],
  );
});

test('UDP flows are ended that lead to endpoints that are gone, or that began before there were any', () => {
  const udp = service({ ports: [{ port: 53, protocol: 'UDP' }] });
  const rules = (...endpoints: Endpoint[]) =>
    rulesNow(udp, [slice(endpoints, [{ name: '', port: 53, protocol: 'UDP' }])], node);
  const at = { protocol: 'udp', destination: '10.96.0.1', destinationPort: 53 };
  assert.deepEqual(staleNow(rules(near, far), rules(far)), [{ ...at, redirectedTo: '10.244.1.2' }]);
  assert.deepEqual(staleNow(rules(near), undefined), [{ ...at, redirectedTo: '10.244.1.2' }]);
  assert.deepEqual(staleNow(rules(), rules(near)), [at]);
  assert.deepEqual(staleNow(rules(near), rules(near, far)), []);
  // of a table that was gone for a while
  assert.deepEqual(pastNow(rules(near, far)), [at]);
  assert.deepEqual(pastNow(rules()), []);
});
