// Which nodes a term of a node selector names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../api/generated/types/core-v1.ts';
import { matchesNodeSelectorTerm, matchesRequiredNodeAffinity } from './node-affinity.ts';

const node = {
  metadata: { name: 'n', labels: { zone: 'a', cores: '8', text: 'x', long: '9223372036854775808' } },
};

test('each operator holds for what it says, and none for what it cannot read', () => {
  const rows: readonly (readonly [boolean, string, string, string[]?])[] = [
    [true, 'zone', 'In', ['b', 'a']],
    [false, 'zone', 'In', ['b']],
    [false, 'toString', 'In', ['a']],
    [false, 'zone', 'NotIn', ['a']],
    [true, 'zone', 'NotIn', ['b']],
    [true, 'none', 'NotIn', ['a']],
    [true, 'zone', 'Exists'],
    [false, 'none', 'Exists'],
    [true, 'none', 'DoesNotExist'],
    [false, 'zone', 'DoesNotExist'],
    [true, 'cores', 'Gt', ['7']],
    [false, 'cores', 'Gt', ['8']],
    [true, 'cores', 'Lt', ['9223372036854775807']],
    [false, 'text', 'Lt', ['9']],
    [false, 'none', 'Gt', ['1']],
    [false, 'cores', 'Gt', ['x']],
    [false, 'cores', 'Gt'],
    // As strconv.ParseInt of 64 bits.
    [false, 'long', 'Gt', ['1']],
    [false, 'zone', 'Like', ['a']],
    [false, 'zone', 'in', ['a']],
    [false, 'zone', 'constructor', ['a']],
  ];
  for (const [holds, key, operator, values] of rows) {
    const term = { matchExpressions: [{ key, operator, values }] };
    assert.equal(matchesNodeSelectorTerm(term, node), holds, JSON.stringify(term));
  }
  assert.equal(matchesNodeSelectorTerm({}, node), false);
  const byName = (name: string) => ({
    matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }],
  });
  assert.equal(matchesNodeSelectorTerm(byName('n'), node), true);
  assert.equal(matchesNodeSelectorTerm(byName('m'), node), false);
});

test('a nodeSelector of thousands of labels is read to the first that a node has not', () => {
  const nodeSelector = Object.fromEntries(Array.from({ length: 9_900 }, (_, i) => [`k${i}`, 'v']));
  const pod = { metadata: { name: 'p' }, spec: { nodeSelector } } as unknown as Pod;
  const node = (labels: Record<string, string>) => ({ metadata: { name: 'n', labels } });
  assert.equal(matchesRequiredNodeAffinity(pod, node(nodeSelector)), true);
  const { k9899: _, ...others } = nodeSelector;
  assert.equal(matchesRequiredNodeAffinity(pod, node(others)), false);
  const from = process.cpuUsage();
  for (let i = 0; i < 5_000; i++) assert.equal(matchesRequiredNodeAffinity(pod, node({ zone: 'z' })), false);
  // Twenty seconds, when a list of all was made for each node.
  assert.ok(process.cpuUsage(from).user < 2_000_000);
});
