// What a node's cable lets through, as text; what becomes of it on a kernel that can't.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PacketFilterError } from '../os/packet-filter.ts';
import { createFakePacketFilter } from '../os/testing/fake-packet-filter.ts';
import { renderCableGuard, renderPodSources } from './cable-guard.ts';
import { fabricPortName, planFabric } from './fabric-plan.ts';
import { guardCables } from './guard-cables.ts';

const plan = planFabric({
  clusterName: 'c',
  subnet: '172.30.0.0/24',
  nodeNames: ['a', 'b'],
  addresses: new Map(),
});

test('a port lets its own hardware and IP address through, its pods, and what Services announce but nodes; never all', () => {
  const rules = renderCableGuard(plan)
    .split('\n')
    .filter((line) => line.includes(`netdev porthole-c ${fabricPortName('c', 'b')} `))
    .map((line) => line.slice(line.indexOf(fabricPortName('c', 'b')) + fabricPortName('c', 'b').length + 1));
  const arp = 'arp htype 1 arp ptype ip arp hlen 6 arp plen 4';
  assert.deepEqual(rules, [
    `{ type filter hook ingress device "${fabricPortName('c', 'b')}" priority filter; policy drop; }`,
    'ether saddr != 0a:58:ac:1e:00:03 counter drop',
    'ip saddr 172.30.0.3 accept',
    'iifname . ip saddr @pods accept',
    'ip saddr != @nodes ip saddr @announced accept',
    `${arp} arp saddr ether != 0a:58:ac:1e:00:03 counter drop`,
    `${arp} arp saddr ip 172.30.0.3 accept`,
    `${arp} iifname . arp saddr ip @pods accept`,
    `${arp} arp saddr ip != @nodes arp saddr ip @announced accept`,
    'counter drop',
  ]);
  assert.match(renderCableGuard(plan), /porthole-c nodes { 172.30.0.1, 172.30.0.2, 172.30.0.3 }/);
});

test('pods are heard on the port of the node that has their prefix; nodes without one have no pods', () => {
  const node = (name: string, podCIDR: string | undefined) =>
    ({ name, os: 'linux', internalIP: undefined, podCIDR, registered: '' }) as const;
  assert.equal(
    renderPodSources('c', [node('a', '10.244.1.0/24'), node('b', undefined)]),
    `flush set netdev porthole-c pods
add element netdev porthole-c pods { "${fabricPortName('c', 'a')}" . 10.244.1.0/24 }
`,
  );
  assert.equal(renderPodSources('c', []), 'flush set netdev porthole-c pods\n');
});

test('a kernel that cannot judge a cable is a warning, anything else that fails is thrown', async () => {
  const fake = createFakePacketFilter();
  assert.deepEqual(await guardCables(fake, plan), []);
  assert.equal(fake.applied.length, 1);
  fake.failNext('nft: Device or resource busy');
  await assert.rejects(guardCables(fake, plan), /resource busy/);
  const old = {
    ...fake,
    apply: async () => {
      throw new PacketFilterError('nft: Operation not supported');
    },
  };
  assert.match((await guardCables(old, plan)).join(), /nothing keeps root on a node from taking another/);
});
