// Which nodes a term of a node selector names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../api/generated/types/core-v1.ts';
import { matchesNodeSelectorTerm, matchesRequiredNodeAffinity, preferenceOf } from './node-affinity.ts';

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

const podOf = (nodeSelectorTerms: readonly object[]): Pod => {
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  return { metadata: { name: 'p' }, spec: { affinity: { nodeAffinity } } } as unknown as Pod;
};

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

test('many terms say what each says alone: any of them is enough, and those that match weigh together', () => {
  const requirements: readonly (readonly [string, string, string[]?])[] = [
    ['zone', 'In', ['b', 'a']],
    ['zone', 'NotIn', ['a']],
    ['none', 'DoesNotExist'],
    ['cores', 'Gt', ['7']],
    ['cores', 'Gt', ['x']],
    ['zone', 'Like', ['a']],
  ];
  const terms = [
    {},
    { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] },
    { matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['n'] }] },
    { matchFields: [{ key: 'metadata.uid', operator: 'NotIn', values: ['n'] }] },
    ...requirements.map(([key, operator, values]) => ({ matchExpressions: [{ key, operator, values }] })),
  ];
  const never = { matchExpressions: [{ key: 'none', operator: 'Exists' }] };
  for (const term of terms) {
    const many = [...Array.from({ length: 20 }, () => never), term];
    const pod = podOf(many);
    assert.equal(
      matchesRequiredNodeAffinity(pod, node),
      matchesNodeSelectorTerm(term, node),
      JSON.stringify(term),
    );
  }
  const preferred = [...terms, ...terms, ...terms].map((preference, at) => ({ preference, weight: at + 1 }));
  const expected = preferred.filter(({ preference }) => matchesNodeSelectorTerm(preference, node));
  assert.equal(
    preferenceOf(preferred, node),
    expected.reduce((sum, { weight }) => sum + weight, 0),
  );
});

test('thousands of terms are not tried for each node', () => {
  const labels = { zone: 'a', cores: '8', 'kubernetes.io/os': 'linux' };
  const required = Array.from({ length: 9_000 }, (_, i) => ({
    matchExpressions: [
      {
        key: 'kubernetes.io/os',
        operator: i % 2 === 0 ? 'In' : 'Exists',
        ...(i % 2 === 0 && { values: ['linux'] }),
      },
      { key: `k${i}`, operator: 'Exists' },
    ],
  }));
  const preferred = required.map((preference) => ({ preference, weight: 1 }));
  const pod = podOf(required);
  const from = process.cpuUsage();
  for (let i = 0; i < 1_000; i++) {
    const one = { metadata: { name: `n${i}`, labels: { ...labels, 'kubernetes.io/hostname': `n${i}` } } };
    assert.equal(matchesRequiredNodeAffinity(pod, one), false);
    if (i < 100) assert.equal(preferenceOf(preferred, one), 0);
  }
  // 1.3 s, when each was tried.
  assert.ok(process.cpuUsage(from).user < 800_000, `${process.cpuUsage(from).user} µs`);
});
