// Terms asked about all at once are those that match, and thousands of them hold nobody's cycle.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod, PodAffinityTerm } from '../../api/generated/types/core-v1.ts';
import { matchesSelector, selectorFrom } from '../../apimachinery/label-selector.ts';
import { affinityTerms, type NamespaceView } from './affinity-terms.ts';

const podOf = (labels: Record<string, string>, namespace = 'n'): Pod =>
  ({ metadata: { name: 'p', namespace, labels }, spec: {} }) as unknown as Pod;
const owner = podOf({});
const namespaceOf = ({ metadata }: Pod): NamespaceView => ({ name: metadata.namespace!, labels: {} });

/** The places of those that match: each has a topology key of its own. */
function found(pod: Pod, sent: readonly PodAffinityTerm[], namespace = namespaceOf(pod)): number[] {
  const keyed = sent.map((term, at) => ({ ...term, topologyKey: `${at}` }));
  const terms = affinityTerms(owner, keyed);
  const sums = terms.matching(pod, namespace);
  const out = sent.flatMap((_, at) => (sums !== undefined && sums(`${at}`).count > 0 ? [at] : []));
  assert.equal(terms.matchAll(pod, namespace), out.length === sent.length);
  return out;
}

const term = (labelSelector: PodAffinityTerm['labelSelector'], more: object = {}): PodAffinityTerm =>
  ({ topologyKey: 'zone', ...(labelSelector ? { labelSelector } : {}), ...more }) as PodAffinityTerm;
const expression = (key: string, operator: string, ...values: string[]): PodAffinityTerm =>
  term({ matchExpressions: [{ key, operator, ...(values.length > 0 ? { values } : {}) }] });

test('terms of every kind of selector are told of the pods that they match', () => {
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

describe('a term is about', () => {
  const a = { matchLabels: { a: '1' } };
  const team = { matchLabels: { team: 'x' } };
  const terms = [
    term(a),
    term(a, { namespaces: ['x', 'y'] }),
    term(a, { namespaceSelector: {} }),
    term(a, { namespaceSelector: team }),
    term(a, { namespaces: ['y'], namespaceSelector: team }),
    term(a, {
      namespaces: [],
      namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'Exists' }] },
    }),
    term(a, { namespaces: [] }),
  ];
  const at = (name: string, labels: Record<string, string>): number[] =>
    found(podOf({ a: '1' }, name), terms, { name, labels });

  test('the namespace of its pod, if it says of neither names nor labels', () => {
    assert.deepEqual(at('n', {}), [0, 2, 6]);
  });
  test('the namespaces that it names, and all, if its selector is empty', () => {
    assert.deepEqual(at('y', {}), [1, 2, 4]);
    assert.deepEqual(at('z', {}), [2]);
  });
  test('those whose labels its selector matches, beside those that it names: its own only if so', () => {
    assert.deepEqual(at('z', { team: 'x' }), [2, 3, 4, 5]);
    assert.deepEqual(at('z', { team: 'y' }), [2, 5]);
    assert.deepEqual(at('n', { team: 'x' }), [0, 2, 3, 4, 5, 6]);
  });
});

test('weights are summed up by topology key, of terms that match without labels too', () => {
  const of = (weight: number, labelSelector: object, topologyKey: string): object => ({
    weight,
    podAffinityTerm: { topologyKey, labelSelector, namespaceSelector: {} },
  });
  const absent = { matchExpressions: [{ key: 'a', operator: 'DoesNotExist' }] };
  const sent = [of(1, {}, 'zone'), of(20, absent, 'zone'), of(50, { matchLabels: { a: '1' } }, 'host')];
  const terms = affinityTerms(owner, sent as never);
  const sums = (labels: Record<string, string>): object[] => {
    const sum = terms.matching(podOf(labels, 'other'), { name: 'other', labels: {} })!;
    return [sum('zone'), sum('host'), sum('rack')];
  };
  const nothing = { count: 0, weight: 0 };
  assert.deepEqual(sums({}), [{ count: 2, weight: 21 }, nothing, nothing]);
  assert.deepEqual(sums({ a: '1' }), [{ count: 1, weight: 1 }, { count: 1, weight: 50 }, nothing]);
});

test('fifty pods with thousands of terms each do not make each cycle long, whatever they ask', () => {
  const everywhere = { namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'DoesNotExist' }] } };
  const kinds: ((i: number, list: number) => object)[] = [
    () => ({}),
    (i) => ({ matchLabels: { [`k${i}`]: 'v' } }),
    (i) => ({ matchExpressions: [{ key: `k${i}`, operator: 'Exists' }] }),
    (i, list) => ({ matchExpressions: [{ key: 'app', operator: 'NotIn', values: [`${list}-${i}`] }] }),
    (i) => ({ matchExpressions: [{ key: `k${i}`, operator: 'DoesNotExist' }] }),
    (i) => ({ matchExpressions: ['app', `k${i}`].map((key) => ({ key, operator: 'Exists' })) }),
  ];
  const lists = Array.from({ length: 50 }, (_, list) =>
    Array.from({ length: 600 }, (_, i) => term(kinds[i % kinds.length]!(i, list), everywhere)),
  );
  const namespace = { name: 'other', labels: {} };
  const ask = (labels: Record<string, string>): number => {
    const pod = podOf(labels, 'other');
    return lists.reduce(
      (n, sent) => n + (affinityTerms(owner, sent).matching(pod, namespace)?.('zone').count ?? 0),
      0,
    );
  };
  const matching = 3 * 100 * 50;
  assert.equal(ask({ app: 'web' }), matching);
  const from = process.cpuUsage();
  for (let cycle = 0; cycle < 200; cycle++) assert.equal(ask({ app: 'web', pod: `${cycle}` }), matching);
  // Six million terms, if each were tried: a cycle is to cost less than a millisecond.
  assert.ok(process.cpuUsage(from).user < 200_000, `${process.cpuUsage(from).user / 200} µs a cycle`);
});

/** A hundred terms of all kinds of selectors and scopes, on two topology keys. */
const mixed = Array.from({ length: 100 }, (_, i) => ({
  weight: i + 1,
  podAffinityTerm: {
    topologyKey: i % 3 === 0 ? 'host' : 'zone',
    labelSelector: {
      matchExpressions: [
        { key: `k${i % 5}`, operator: ['Exists', 'DoesNotExist'][i % 2]! },
        ...(i % 7 === 0 ? [{ key: 'app', operator: 'In', values: [`a${i % 4}`] }] : []),
      ],
    },
    ...(i % 4 === 0 ? {} : { namespaceSelector: { matchLabels: i % 4 === 1 ? {} : { team: `t${i % 3}` } } }),
    ...(i % 6 === 0 ? { namespaces: [`n${i % 5}`] } : {}),
  },
}));

test('what is kept of many terms is of the pod and the namespace that are asked about, whoever was before', () => {
  const terms = affinityTerms(owner, mixed as never);
  for (let ask = 0; ask < 600; ask++) {
    const labels = Object.fromEntries([`k${ask % 5}`, `k${ask % 3}`].map((key) => [key, 'x']));
    const pod = podOf({ ...labels, app: `a${ask % 4}` }, `n${ask % 7}`);
    const namespace = { name: `n${ask % 7}`, labels: ask % 2 === 0 ? { team: `t${ask % 3}` } : {} };
    const sums = terms.matching(pod, namespace);
    for (const key of ['host', 'zone', 'rack']) {
      const expected = mixed.filter(({ podAffinityTerm: { namespaces = [], ...one } }) => {
        const isOwn = one.namespaceSelector === undefined && namespaces.length === 0;
        const isAbout =
          (isOwn && namespace.name === 'n') ||
          namespaces.includes(namespace.name) ||
          (one.namespaceSelector !== undefined &&
            matchesSelector(selectorFrom(one.namespaceSelector as never), namespace.labels));
        return (
          one.topologyKey === key &&
          isAbout &&
          matchesSelector(selectorFrom(one.labelSelector as never), pod.metadata.labels)
        );
      });
      assert.deepEqual(sums?.(key) ?? { count: 0, weight: 0 }, {
        count: expected.length,
        weight: expected.reduce((sum, { weight }) => sum + weight, 0),
      });
    }
  }
});

for (const [what, scopeOf] of [
  ['no term tells apart', () => ({})],
  ['each term tells apart', (i: number) => ({ matchExpressions: [{ key: `k${i}`, operator: 'Exists' }] })],
] as const)
  test(`nine thousand terms cost no more where pods are of many namespaces: ${what}`, () => {
    const sent = Array.from({ length: 9_000 }, (_, i) => ({
      topologyKey: `rack${i}`,
      labelSelector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] },
      namespaceSelector: scopeOf(i),
    }));
    const terms = affinityTerms(owner, sent as never);
    const views = Array.from({ length: 20 }, (_, i) => ({ name: `n${i}`, labels: { [`k${i}`]: 'x' } }));
    const ask = (i: number): void => {
      const view = views[i % views.length]!;
      assert.equal(terms.matching(podOf({ app: `a${i}` }, view.name), view)?.(`rack${i % 20}`).count, 1);
    };
    for (let i = 0; i < views.length; i++) ask(i);
    const from = process.cpuUsage();
    for (let i = 0; i < 2_000; i++) ask(i);
    // Two seconds, when all were summed up for each that was of another namespace than the one before.
    assert.ok(process.cpuUsage(from).user < 300_000, `${process.cpuUsage(from).user} µs`);
  });
