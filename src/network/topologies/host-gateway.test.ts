// Routes and rules of a node under host-gw, and the difference to what is there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { portholeRouteProtocol } from '../network-plan.ts';
import { addressChanges, renderMasquerade, routeChanges } from '../plan-diff.ts';
import type { NetworkNode, NetworkView } from '../topology.ts';
import { hostGateway } from './host-gateway.ts';
import { topologyByName } from './registry.ts';

const node = (i: number, more: Partial<NetworkNode> = {}): NetworkNode => ({
  name: `n${i}`,
  os: 'linux',
  internalIP: `172.30.0.${i}`,
  podCIDR: `10.244.${i}.0/24`,
  registered: '2026-01-01T00:00:00Z',
  ...more,
});
const view = (...nodes: NetworkNode[]): NetworkView => ({
  nodes,
  clusterCIDR: '10.244.0.0/16',
  serviceCIDR: '10.96.0.0/12',
  connected: ['172.30.0.2/24'],
  masqueradeExceptions: [],
});

test('a node routes to the others, refuses its own spare addresses and hides its pods from the outside alone', () => {
  assert.deepEqual(hostGateway.plan(view(node(2), node(3), node(4, { podCIDR: undefined })), 'n2'), {
    routes: [
      { to: '10.244.3.0/24', via: '172.30.0.3' },
      { to: '10.244.2.0/24', via: undefined },
    ],
    masquerade: {
      sources: ['10.244.2.0/24'],
      exceptions: ['10.244.0.0/16', '10.96.0.0/12', '172.30.0.2/24'],
    },
    ownAddresses: [],
    problems: [],
  });
});

test('a machine that is no node has routes only; a Windows node has the address of its host endpoint', () => {
  const outside = hostGateway.plan(view(node(2), node(3)), undefined);
  assert.deepEqual([outside.routes.length, outside.masquerade], [2, undefined]);
  const windows = hostGateway.plan(view(node(2, { os: 'windows' })), 'n2');
  assert.deepEqual(windows.ownAddresses, [{ bridge: 'cbr0', address: '10.244.2.2/32' }]);
  assert.deepEqual(addressChanges(windows, []), [
    { do: 'addBridge', name: 'cbr0' },
    { do: 'replaceAddress', name: 'cbr0', address: '10.244.2.2/32' },
    { do: 'setLink', name: 'cbr0', up: true },
  ]);
});

test('nodes elsewhere are told, not routed', () => {
  const plan = hostGateway.plan(view(node(2), node(3, { internalIP: '192.0.2.1' })), 'n2');
  assert.deepEqual(plan.routes, [{ to: '10.244.2.0/24', via: undefined }]);
  assert.equal(plan.problems.length, 1);
});

test('the difference to what is there: stale routes go, wrong ones are replaced, those of pods and others stay', () => {
  const plan = hostGateway.plan(view(node(2), node(3)), 'n2');
  const protocol = String(portholeRouteProtocol);
  const here = { to: '10.244.2.0/24', unreachable: true, protocol };
  const { changes } = routeChanges(
    plan,
    [
      { to: '10.244.2.7', dev: 'ph0af40207', unreachable: false, protocol },
      { to: '10.244.3.0/24', via: '172.30.0.9', unreachable: false, protocol },
      { to: '10.244.8.0/24', via: '172.30.0.8', unreachable: false, protocol },
      here,
    ],
    undefined,
  );
  assert.deepEqual(changes, [
    { do: 'deleteRoute', to: '10.244.8.0/24', protocol: portholeRouteProtocol },
    { do: 'replaceRoute', to: '10.244.3.0/24', via: '172.30.0.3', protocol: portholeRouteProtocol },
  ]);
  const done = [{ to: '10.244.3.0/24', via: '172.30.0.3', unreachable: false, protocol }, here];
  assert.deepEqual(routeChanges(plan, done, undefined), { changes: [], problems: [] });
  assert.match(renderMasquerade(plan.masquerade), /ip saddr @sources ip daddr != @exceptions masquerade/);
  assert.doesNotMatch(renderMasquerade(undefined), /masquerade/);
});

test('an unknown topology is refused with the names there are', () => {
  assert.equal(topologyByName('host-gateway'), hostGateway);
  assert.throws(() => topologyByName('__proto__'), /unknown topology "__proto__"; there are: host-gateway/);
});
