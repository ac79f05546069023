// Addresses and cables of nodes on one machine: kept, repaired, never twice.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostChanges, planFabric } from './fabric-plan.ts';
import { podInterfaceName, podIPOfInterface } from './interface-name.ts';
import { freeSubnet } from './subnet.ts';

const input = { clusterName: 'demo', subnet: '172.30.4.0/24', nodeNames: ['a', 'b', 'c'] };

test('nodes keep their addresses, new ones fill the gaps, names of interfaces fit', () => {
  const plan = planFabric({
    ...input,
    addresses: new Map([
      ['b', '172.30.4.2'],
      ['c', '10.0.0.9'],
    ]),
  });
  assert.deepEqual(
    plan.nodes.map((node) => node.address),
    ['172.30.4.3', '172.30.4.2', '172.30.4.4'],
  );
  const long = planFabric({
    ...input,
    clusterName: 'x'.repeat(60),
    nodeNames: ['y'.repeat(60)],
    addresses: new Map(),
  });
  for (const name of [long.bridge, long.nodes[0]!.port]) assert.ok(name.length <= 15, name);
});

test('two nodes that claim one address get two', () => {
  const addresses = new Map([
    ['a', '172.30.4.7'],
    ['b', '172.30.4.7'],
  ]);
  const plan = planFabric({ ...input, addresses });
  assert.equal(new Set(plan.nodes.map((node) => node.address)).size, 3);
});

test('a half cable is replaced, a whole one is kept', () => {
  const plan = planFabric({ ...input, nodeNames: ['a', 'b'], addresses: new Map() });
  const there = plan.nodes.map((node, index) => ({
    name: node.port,
    index,
    mac: '',
    mtu: 1500,
    up: true,
    addresses: [],
  }));
  const changes = hostChanges(plan, there, new Set(['a'])).map((change) => change.do);
  assert.deepEqual(changes, [
    'addBridge',
    'replaceAddress',
    'setLink',
    'replaceRoute',
    'setLink',
    'deleteLink',
    'addVeth',
    'setLink',
  ]);
});

test('a subnet overlaps nothing that is used, and a full pool says so', () => {
  assert.equal(freeSubnet('172.30.0.0/16', 24, ['default', '172.30.0.5', '172.30.1.0/23']), '172.30.2.0/24');
  assert.equal(freeSubnet('172.30.0.0/16', 24, ['172.16.0.0/12']), undefined);
  assert.equal(freeSubnet('172.30.0.0/16', 24, ['0.0.0.0/0', '::1/128']), '172.30.0.0/24');
});

test('the interface of a pod is named by its address and back', () => {
  assert.equal(podInterfaceName('10.244.1.5'), 'ph0af40105');
  assert.equal(podIPOfInterface('ph0af40105'), '10.244.1.5');
  assert.equal(podIPOfInterface('phn-0af40105'), undefined);
});
