// Whose place a pod takes: upstream's cases of victims, budgets and the choice among nodes.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { PodDisruptionBudget } from '../../api/generated/types/policy-v1.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import { schedulePod } from '../scheduling-cycle.ts';
import { makeNode, makePod, nodeWith } from '../testing/builders.ts';
import { testPluginDeps, usualPoints } from '../testing/plugin-deps.ts';
import { Framework } from './framework.ts';
import { FrameworkMetrics } from './framework-metrics.ts';
import { noNodesFit } from './no-nodes-fit.ts';
import { type NodeInfo, podInfoOf } from './node-info.ts';
import { Nominator } from './nominator.ts';
import {
  type Candidates,
  enoughCandidates,
  findCandidates,
  type PreemptionLimits,
  pickCandidate,
  splitByBudgets,
  usualLimits,
} from './preemption.ts';
import { snapshotOf } from './snapshot.ts';

const nowMs = Date.parse('2026-01-01T12:00:00Z');
const hour = (n: number): string => new Date(nowMs - n * 3_600_000).toISOString();

/** `priority[,hours that it runs]`. */
function pod(
  name: string,
  priority: number,
  options: Parameters<typeof makePod>[1] & { readonly hours?: number } = {},
): Pod {
  const { hours, ...rest } = options;
  const made = makePod(name, { ...rest, spec: { ...rest.spec, priority } });
  return hours === undefined ? made : { ...made, status: { startTime: hour(hours) } };
}

function budget(
  allowed: number,
  labels: Record<string, string>,
  disrupted: string[] = [],
): PodDisruptionBudget {
  return {
    metadata: { name: 'b', namespace: 'default' },
    spec: { selector: { matchLabels: labels } },
    status: {
      disruptionsAllowed: allowed,
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
      disruptedPods: Object.fromEntries(disrupted.map((name) => [name, '2026-01-01T00:00:00Z'])),
    },
  };
}

function search(
  preemptor: Pod,
  nodes: readonly NodeInfo[],
  how: {
    readonly budgets?: readonly PodDisruptionBudget[];
    readonly offset?: number;
    readonly limits?: PreemptionLimits;
    readonly nominated?: readonly (readonly [Pod, string])[];
  } = {},
): Candidates {
  const nominator = new Nominator();
  for (const [promised, node] of how.nominated ?? []) nominator.nominate(promised, node);
  const framework = new Framework(
    usualPoints(),
    new FrameworkMetrics(createMetrics(), new FakeClock(), 'test'),
    nominator,
  );
  const snapshot = snapshotOf(nodes);
  const result = schedulePod(preemptor, snapshot, { framework, random: testPluginDeps().random, startAt: 0 });
  assert.ok(!result.fits, 'fits without preemption');
  const { state, statuses } = result;
  return findCandidates(
    state,
    preemptor,
    { snapshot, statuses, whatIf: framework },
    {
      budgets: () => how.budgets ?? [],
      limits: how.limits ?? usualLimits,
      offset: () => how.offset ?? 0,
      nowMs,
    },
  );
}

const victims = ({ found }: Candidates): Record<string, string[]> =>
  Object.fromEntries(found.map((one) => [one.node, one.victims.map(({ metadata }) => metadata.name)]));

const small = { cpu: '1', memory: '1Gi' };

describe('victims on a node', () => {
  test('are as few as will do, and those that matter most stay', () => {
    const node = nodeWith(
      makeNode('n', { cpu: '4' }),
      pod('lowest', 1, small),
      pod('low', 2, small),
      pod('middle', 3, small),
      pod('high', 20, small),
    );
    assert.deepEqual(victims(search(pod('p', 10, { cpu: '1' }), [node])), { n: ['lowest'] });
    assert.deepEqual(victims(search(pod('p', 10, { cpu: '2' }), [node])), { n: ['low', 'lowest'] });
    assert.equal(
      noNodesFit(1, search(pod('p', 10, { cpu: '4' }), [node]).statuses),
      '0/1 nodes are available: 1 Insufficient cpu.',
    );
  });

  test('of one priority are those that began last', () => {
    const node = nodeWith(
      makeNode('n', { cpu: '2' }),
      pod('old', 0, { cpu: '1', hours: 9 }),
      pod('new', 0, { cpu: '1', hours: 1 }),
    );
    assert.deepEqual(victims(search(pod('p', 1, { cpu: '1' }), [node])), { n: ['new'] });
  });

  test('are never of the same or a higher priority', () => {
    const node = nodeWith(makeNode('n', { cpu: '1' }), pod('same', 5, { cpu: '1' }));
    const { found, statuses } = search(pod('p', 5, { cpu: '1' }), [node]);
    assert.deepEqual(found, []);
    assert.equal(
      noNodesFit(1, statuses),
      '0/1 nodes are available: 1 No preemption victims found for incoming pod.',
    );
  });

  test('leave a node that could never take the pod alone', () => {
    const tooSmall = nodeWith(makeNode('small', { cpu: '1' }), pod('a', 0, { cpu: '1' }));
    const other = nodeWith(
      makeNode('tainted', { cpu: '9', spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }),
      pod('b', 0, { cpu: '1' }),
    );
    const { found, statuses } = search(pod('p', 5, { cpu: '2' }), [tooSmall, other]);
    assert.deepEqual(found, []);
    assert.equal(
      noNodesFit(2, statuses),
      '0/2 nodes are available: 2 Preemption is not helpful for scheduling.',
    );
  });

  test('are those whose anti-affinity, host port or share of a topology is in the way', () => {
    const term = { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: 'zone' };
    const jealous = {
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
    };
    const zone = { labels: { zone: 'z' } };
    const web = { app: 'web' };
    const withJealous = nodeWith(makeNode('n', zone), pod('jealous', 0, { spec: jealous }), pod('calm', 0));
    assert.deepEqual(victims(search(pod('p', 5, { labels: web }), [withJealous])), { n: ['jealous'] });
    const withWeb = nodeWith(makeNode('n', zone), pod('web', 0, { labels: web }), pod('calm', 0));
    assert.deepEqual(victims(search(pod('p', 5, { spec: jealous }), [withWeb])), { n: ['web'] });
    // In another node of the zone: to end those here would not help.
    const there = nodeWith(makeNode('m', zone), pod('web', 0, { labels: web }));
    const empty = nodeWith(makeNode('n', zone), pod('calm', 0));
    assert.deepEqual(victims(search(pod('p', 5, { spec: jealous }), [empty, there])), { m: ['web'] });

    const port = { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 1, hostPort: 80 }] }] };
    const listening = nodeWith(makeNode('n'), pod('listens', 0, { spec: port }), pod('calm', 0));
    assert.deepEqual(victims(search(pod('p', 5, { spec: port }), [listening])), { n: ['listens'] });

    const spread = {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'zone',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: web },
        },
      ],
    };
    const full = nodeWith(
      makeNode('full', { labels: { zone: 'a' } }),
      pod('w1', 0, { labels: web }),
      pod('w2', 1, { labels: web }),
      pod('calm', 0),
    );
    const fuller = nodeWith(
      makeNode('tainted', {
        labels: { zone: 'b' },
        spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] },
      }),
      pod('w3', 0, { labels: web }),
    );
    const preemptor = pod('p', 5, { labels: web, spec: spread });
    assert.deepEqual(victims(search(preemptor, [full, fuller])), { full: ['w1'] });
  });

  test('leave room for pods of the same or a higher priority that the node is promised to', () => {
    const node = nodeWith(makeNode('n', { cpu: '3' }), pod('a', 0, { cpu: '1' }), pod('b', 1, { cpu: '2' }));
    const preemptor = pod('p', 5, { cpu: '1' });
    assert.deepEqual(victims(search(preemptor, [node])), { n: ['a'] });
    const equal = pod('promised', 5, { cpu: '1' });
    assert.deepEqual(victims(search(preemptor, [node], { nominated: [[equal, 'n']] })), { n: ['b'] });
    const lower = pod('promised', 4, { cpu: '1' });
    assert.deepEqual(victims(search(preemptor, [node], { nominated: [[lower, 'n']] })), { n: ['a'] });
  });

  test('whom a budget wants to keep stay before others do, and are counted where they can not', () => {
    const web = { app: 'web' };
    const node = nodeWith(
      makeNode('n', { cpu: '3' }),
      pod('kept', 0, { cpu: '1', labels: web }),
      pod('also', 0, { cpu: '1', labels: web }),
      pod('more', 3, { cpu: '1' }),
    );
    const budgets = [budget(1, web)];
    const one = search(pod('p', 5, { cpu: '1' }), [node], { budgets }).found[0];
    assert.deepEqual([one?.victims.map(({ metadata }) => metadata.name), one?.violations], [['kept'], 0]);
    const two = search(pod('p', 5, { cpu: '2' }), [node], { budgets }).found[0];
    assert.deepEqual(
      [two?.victims.map(({ metadata }) => metadata.name), two?.violations],
      [['more', 'kept'], 0],
    );
    const all = search(pod('p', 5, { cpu: '3' }), [node], { budgets }).found[0];
    assert.deepEqual(
      [all?.victims.map(({ metadata }) => metadata.name), all?.violations],
      [['more', 'also', 'kept'], 1],
    );
  });
});

test('budgets count whom they allow to go, but not those of other namespaces, without labels or gone already', () => {
  const labelled = (name: string): Pod => pod(name, 0, { labels: { app: 'web' } });
  const split = (pods: readonly Pod[], budgets: readonly PodDisruptionBudget[]): string[] =>
    splitByBudgets(pods.map(podInfoOf), budgets).violating.map((one) => one.pod.metadata.name);
  const [a, b] = [labelled('a'), labelled('b')];
  assert.deepEqual(split([a, b], [budget(0, { app: 'web' })]), ['a', 'b']);
  assert.deepEqual(split([a, b], [budget(1, { app: 'web' })]), ['b']);
  assert.deepEqual(split([a, b], [budget(2, { app: 'web' })]), []);
  assert.deepEqual(split([a, b], [budget(1, { app: 'web' }), budget(0, { app: 'web' })]), ['a', 'b']);
  assert.deepEqual(split([a, b], [budget(0, { app: 'web' }, ['a'])]), ['b']);
  assert.deepEqual(split([a], [budget(0, {})]), []);
  assert.deepEqual(split([pod('bare', 0)], [budget(0, {})]), []);
  const elsewhere = { ...a, metadata: { ...a.metadata, namespace: 'other' } };
  assert.deepEqual(split([elsewhere], [budget(0, { app: 'web' })]), []);
});

test('so many nodes are looked at for candidates: a share, a number, never more than there are', () => {
  for (const [nodes, percentage, absolute, expected] of [
    [100, 10, 5, 10],
    [100, 10, 50, 50],
    [100, 60, 500, 100],
    [10, 10, 0, 1],
    [7, 10, 0, 0],
  ] as const) {
    const limits = { minCandidateNodesPercentage: percentage, minCandidateNodesAbsolute: absolute };
    assert.equal(enoughCandidates(nodes, limits), expected);
  }
  const nodes = Array.from({ length: 6 }, (_, i) =>
    nodeWith(makeNode(`n${i}`, { cpu: '1' }), pod(`v${i}`, 0, { cpu: '1' })),
  );
  const limits = { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 2 };
  assert.deepEqual(Object.keys(victims(search(pod('p', 1, { cpu: '1' }), nodes, { limits, offset: 4 }))), [
    'n4',
    'n5',
  ]);
  assert.deepEqual(Object.keys(victims(search(pod('p', 1, { cpu: '1' }), nodes, { limits, offset: 5 }))), [
    'n5',
    'n0',
  ]);
});

describe('of several nodes it takes', () => {
  const picked = (nodes: Readonly<Record<string, readonly Pod[]>>, violations: Record<string, number> = {}) =>
    pickCandidate(
      Object.entries(nodes).map(([node, pods]) => ({
        node,
        victims: pods,
        violations: violations[node] ?? 0,
      })),
      nowMs,
    )?.node;
  const of = (priority: number, hours = 1): Pod => pod('v', priority, { hours });

  for (const [what, nodes, expected, violations] of [
    ['the one where no budget is broken', { a: [of(1)], b: [of(9), of(9)] }, 'b', { a: 1 }],
    ['the one whose most important victim matters least', { a: [of(5)], b: [of(4), of(4), of(4)] }, 'b'],
    ['then the one with the smallest sum of priorities', { a: [of(5), of(4)], b: [of(5), of(3)] }, 'b'],
    ['also below 0, where fewer are better', { a: [of(-5), of(-5)], b: [of(-5)] }, 'b'],
    ['then the one with fewer victims', { a: [of(5), of(-(2 ** 31))], b: [of(5)] }, 'b'],
    [
      'then the one whose most important victims began last',
      { a: [of(5, 9), of(1, 1)], b: [of(5, 2), of(1, 9)] },
      'b',
    ],
    ['and of equals the first', { a: [of(5)], b: [of(5)] }, 'a'],
  ] as const)
    test(what, () => {
      assert.equal(picked(nodes, violations), expected);
    });
});
