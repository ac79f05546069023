// What the filling of nodes is worth, in upstream's cases of its three strategies.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { ScoringStrategy } from '../config/plugin-args.ts';
import { makeNode, makePod, nodeWith } from '../testing/builders.ts';
import type { NodeInfo } from './node-info.ts';
import { nonZeroRequestOf, requestOf } from './resources.ts';
import { scorerOf } from './scoring-strategy.ts';

const both = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
];
const score = (strategy: Partial<ScoringStrategy>, pod: Pod, node: NodeInfo): number =>
  scorerOf({ type: 'LeastAllocated', resources: both, ...strategy })(node, {
    request: requestOf(pod),
    nonZero: nonZeroRequestOf(pod),
  });
const node = nodeWith(makeNode('n', { cpu: '4', memory: '10000' }));
const pod = makePod('p', { cpu: '3', memory: '5000' });

test('the least allocated node is the best, or the most allocated', () => {
  // (25 + 50) / 2, and (75 + 50) / 2.
  assert.equal(score({}, pod, node), 37);
  assert.equal(score({ type: 'MostAllocated' }, pod, node), 62);
  const weighted = [
    { name: 'cpu', weight: 1 },
    { name: 'memory', weight: 3 },
  ];
  assert.equal(score({ resources: weighted }, pod, node), 43);
  const tooBig = makePod('p', { cpu: '5', memory: '5000' });
  assert.equal(score({}, tooBig, node), 25);
  assert.equal(score({ type: 'MostAllocated' }, tooBig, node), 75);
});

test('an extended resource counts for pods that ask for it, on nodes that have it', () => {
  const resources = [{ name: 'example.com/gpu', weight: 1 }];
  const withGpu = nodeWith(makeNode('n', { extra: { 'example.com/gpu': '4' } }));
  const asking = makePod('p', {
    spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { 'example.com/gpu': '1' } } }] },
  });
  assert.equal(score({ type: 'MostAllocated', resources }, asking, withGpu), 25);
  assert.equal(score({ type: 'MostAllocated', resources }, pod, withGpu), 0);
  assert.equal(score({ type: 'MostAllocated', resources }, asking, node), 0);
});

test('a line gives each filling its score', () => {
  const ratio = (
    ...shape: readonly (readonly [utilization: number, score: number])[]
  ): Partial<ScoringStrategy> => ({
    type: 'RequestedToCapacityRatio',
    requestedToCapacityRatio: { shape: shape.map(([utilization, score]) => ({ utilization, score })) },
  });
  // 75 % and 50 %.
  assert.equal(score(ratio([0, 0], [100, 10]), pod, node), 63);
  assert.equal(score(ratio([0, 10], [100, 0]), pod, node), 38);
  // Up to 70 % nothing is worth anything: only cpu counts.
  assert.equal(score(ratio([70, 0], [80, 10]), pod, node), 50);
  assert.equal(score(ratio([10, 5]), pod, node), 50);
});
