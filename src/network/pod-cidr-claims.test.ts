// Which pod prefixes are believed, and what is said of the others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { believedNodes } from './pod-cidr-claims.ts';
import type { NetworkNode } from './topology.ts';

const node = (
  name: string,
  podCIDR: string | undefined,
  registered = '2026-01-01T00:00:00Z',
): NetworkNode => ({
  name,
  os: 'linux',
  internalIP: '172.30.0.2',
  podCIDR,
  registered,
});

test('a pod prefix is believed inside the cluster, once, and of the node that is there longer', () => {
  const table: readonly (readonly [string, readonly NetworkNode[], readonly string[]])[] = [
    ['a cluster as it should be', [node('a', '10.244.0.0/24'), node('b', '10.244.1.0/24')], []],
    ['a node that still waits', [node('a', undefined)], []],
    [
      'the whole of the private range',
      [node('a', '10.244.0.0/24'), node('thief', '10.0.0.0/8')],
      ["node thief has podCIDR 10.0.0.0/8, which is not inside the cluster's 10.244.0.0/16"],
    ],
    [
      'the service range',
      [node('thief', '10.96.0.0/24')],
      ["node thief has podCIDR 10.96.0.0/24, which is not inside the cluster's 10.244.0.0/16"],
    ],
    [
      'the default route',
      [node('thief', '0.0.0.0/0')],
      ["node thief has podCIDR 0.0.0.0/0, which is not inside the cluster's 10.244.0.0/16"],
    ],
    [
      'the same prefix as another, and its elder',
      [node('thief', '10.244.0.0/24', '2026-01-02T00:00:00Z'), node('victim', '10.244.0.0/24')],
      ['node thief has podCIDR 10.244.0.0/24, which overlaps 10.244.0.0/24 of node victim'],
    ],
    [
      'one address of another',
      [node('victim', '10.244.0.0/24'), node('zthief', '10.244.0.7/32')],
      ['node zthief has podCIDR 10.244.0.7/32, which overlaps 10.244.0.0/24 of node victim'],
    ],
    [
      'a wider prefix that holds the others',
      [node('victim', '10.244.0.0/24'), node('zthief', '10.244.0.0/17')],
      ['node zthief has podCIDR 10.244.0.0/17, which overlaps 10.244.0.0/24 of node victim'],
    ],
    ['nonsense', [node('thief', 'foo')], ['node thief has podCIDR foo, which is not a prefix']],
  ];
  for (const [what, nodes, problems] of table) {
    const believed = believedNodes(nodes, '10.244.0.0/16');
    assert.deepEqual(believed.problems, problems, what);
    const kept = believed.nodes.filter((n) => n.podCIDR !== undefined).length;
    const asked = nodes.filter((n) => n.podCIDR !== undefined).length;
    assert.equal(kept, asked - problems.length, what);
  }
});
