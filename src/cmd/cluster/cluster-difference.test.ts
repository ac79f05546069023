// What `up` says of a cluster that is there with something else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AskedFor, differenceOf } from './cluster-difference.ts';
import { type NodeCounts, planNodes } from './cluster-plan.ts';

const counts: NodeCounts = { linux: 1, windows: 1, windowsBuild: 20348 };
const nodes = (change: Partial<NodeCounts>): Pick<AskedFor, 'nodes'> => ({
  nodes: planNodes({ ...counts, ...change }),
});
const asked: AskedFor = { ...nodes({}), runtime: 'auto' };
const has = {
  runtime: 'containerd' as const,
  nodes: asked.nodes.map((node) => ({ ...node, ip: '' })),
};

test('up names what differs, not the nodes when they are the same', () => {
  const rows: [Partial<AskedFor>, string | undefined][] = [
    [{}, undefined],
    [{ runtime: 'containerd' }, undefined],
    [{ runtime: 'simulated' }, 'with another runtime (--runtime containerd)'],
    [nodes({ windowsTaint: true }), 'and its Windows nodes are not tainted (--windows-taint was not given)'],
    [nodes({ linux: 2 }), 'with other nodes (linux-1, windows-1 20348)'],
    [nodes({ windowsBuild: 26100 }), 'with other nodes (linux-1, windows-1 20348)'],
    [
      { registryConfig: '/etc/containerd/certs.d' },
      'and its nodes look elsewhere how to ask registries (--registry-config was not given)',
    ],
    [{ bindAddress: '0.0.0.0' }, 'and its server listens elsewhere (--bind-address was not given)'],
  ];
  for (const [change, says] of rows) assert.equal(differenceOf(has, { ...asked, ...change }), says);
});

test('who says again what a cluster was made with, or what it has become, finds it', () => {
  const [linux, windows] = has.nodes as [(typeof has.nodes)[0], (typeof has.nodes)[0]];
  const grown = { ...has, madeWith: has.nodes, nodes: [linux, windows, { ...linux, name: 'linux-2' }] };
  assert.equal(differenceOf(grown, asked), undefined);
  assert.equal(differenceOf(grown, { ...asked, ...nodes({ linux: 2 }) }), undefined);
  const others = 'with other nodes (linux-1, linux-2, windows-1 20348)';
  assert.equal(differenceOf(grown, { ...asked, ...nodes({ linux: 3 }) }), others);
  assert.equal(differenceOf({ ...has, madeWith: has.nodes, nodes: [linux] }, asked), undefined);
});
