// Terms found by labels are those that match, and thousands of them cost a pod that they do not name next to nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodAffinityTerm } from '../../api/generated/types/core-v1.ts';
import { matchesSelector, selectorFrom } from '../../apimachinery/label-selector.ts';
import { affinityTerms } from './affinity-terms.ts';

const podOf = (labels: Record<string, string>, namespace = 'n'): Pod =>
  ({ metadata: { name: 'p', namespace, labels }, spec: {} }) as unknown as Pod;
const owner = podOf({});
const found = (pod: Pod, sent: readonly PodAffinityTerm[]): number[] => {
  const at: number[] = [];
  affinityTerms(owner, sent).eachMatching(pod, (term) => at.push(term.at));
  return at.sort((a, b) => a - b);
};

const term = (labelSelector: PodAffinityTerm['labelSelector'], more: object = {}): PodAffinityTerm =>
  ({ topologyKey: 'zone', ...(labelSelector ? { labelSelector } : {}), ...more }) as PodAffinityTerm;
const expression = (key: string, operator: string, ...values: string[]): PodAffinityTerm =>
  term({ matchExpressions: [{ key, operator, ...(values.length > 0 ? { values } : {}) }] });

test('terms of every kind of selector are told of the pods that they match, each once', () => {
  const terms = [
    term(undefined),
    term({}),
    term({ matchLabels: { a: '1' } }),
    term({ matchLabels: { a: '1', b: '2' } }),
    term({ matchLabels: { constructor: 'x' } }),
    expression('a', 'In', '1', '2', '1'),
    expression('a', 'NotIn', '1', '2'),
    expression('a', 'Exists'),
    expression('a', 'DoesNotExist'),
    term({ matchLabels: { b: '2' }, matchExpressions: [{ key: 'a', operator: 'DoesNotExist' }] }),
  ];
  for (const labels of [{}, { a: '1' }, { a: '2', b: '2' }, { a: '3' }, { b: '2' }, { constructor: 'x' }]) {
    const expected = terms.flatMap(({ labelSelector }, i) =>
      matchesSelector(selectorFrom(labelSelector), labels as Record<string, string>) ? [i] : [],
    );
    assert.deepEqual(found(podOf(labels as Record<string, string>), terms), expected, JSON.stringify(labels));
  }
});

test('a term is about the namespace of its pod, about those it names, or about all', () => {
  const a = { matchLabels: { a: '1' } };
  const terms = [term(a), term(a, { namespaces: ['x', 'y'] }), term(a, { namespaceSelector: {} })];
  assert.deepEqual(found(podOf({ a: '1' }), terms), [0, 2]);
  assert.deepEqual(found(podOf({ a: '1' }, 'y'), terms), [1, 2]);
  assert.deepEqual(found(podOf({ a: '1' }, 'z'), terms), [2]);
});

test('a hundred pods with thousands of terms each do not make each cycle long', () => {
  const lists = Array.from({ length: 100 }, () =>
    Array.from({ length: 1_000 }, (_, i) =>
      i % 2 === 0
        ? term({ matchExpressions: [{ key: `k${i}`, operator: 'Exists' }] }, { namespaceSelector: {} })
        : term({ matchLabels: { [`k${i}`]: 'v' } }, { namespaceSelector: {} }),
    ),
  );
  const pod = podOf({ app: 'web', k5: 'v' });
  const ask = (): number => lists.reduce((sum, sent) => sum + found(pod, sent).length, 0);
  assert.equal(ask(), 100);
  const from = process.cpuUsage();
  for (let cycle = 0; cycle < 100; cycle++) assert.equal(ask(), 100);
  const { user } = process.cpuUsage(from);
  // Seven seconds, when each cycle read and tried all of them.
  assert.ok(user < 1_000_000, `${user / 1000} ms`);
});
