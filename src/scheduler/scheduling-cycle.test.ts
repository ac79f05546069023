// Where a pod goes, and what is said when it goes nowhere.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../api/generated/types/core-v1.ts';
import type { Random } from '../base/random.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { createMetrics } from '../component-base/metrics.ts';
import { fitErrorMessage } from './fit-error.ts';
import { Framework } from './framework/framework.ts';
import { FrameworkMetrics } from './framework/framework-metrics.ts';
import type { NodeInfo } from './framework/node-info.ts';
import { snapshotOf } from './framework/snapshot.ts';
import { feasibleNodesToFind, noNodes, schedulePod } from './scheduling-cycle.ts';
import { makeNode, makePod, nodeWith } from './testing/builders.ts';
import { usualPoints } from './testing/plugin-deps.ts';

const random: Random = { uint: () => 1, fraction: () => 0.5, uuid: () => 'u' };
const framework = new Framework(
  usualPoints(),
  new FrameworkMetrics(createMetrics(), new FakeClock(), 'test'),
);

function place(pod: Pod, nodes: readonly NodeInfo[]): string {
  const result = schedulePod(pod, snapshotOf(nodes), { framework, random, startAt: 0 });
  return result.fits ? result.node : fitErrorMessage(result.total, result.statuses, result.refused);
}

describe('a pod goes', () => {
  test('to the emptier of two nodes', () => {
    const busy = nodeWith(makeNode('busy'), makePod('a', { cpu: '3', memory: '6Gi' }));
    assert.equal(
      place(makePod('p', { cpu: '500m', memory: '512Mi' }), [busy, nodeWith(makeNode('free'))]),
      'free',
    );
  });

  test('only where its requests fit; the message counts the reasons', () => {
    const small = nodeWith(makeNode('small', { cpu: '1' }));
    const full = nodeWith(
      makeNode('full', { cpu: '2', memory: '1Gi' }),
      makePod('a', { cpu: '1500m', memory: '900Mi' }),
    );
    assert.equal(
      place(makePod('p', { cpu: '2', memory: '500Mi' }), [small, full]),
      '0/2 nodes are available: 1 Insufficient memory, 2 Insufficient cpu.',
    );
  });

  test('nowhere when the node has its number of pods', () => {
    const node = nodeWith(makeNode('n', { pods: '1' }), makePod('a'));
    assert.equal(place(makePod('p'), [node]), '0/1 nodes are available: 1 Too many pods.');
  });

  test('nowhere without nodes, which no plugin is asked about: only a node can help', () => {
    const claim = { name: 'data', persistentVolumeClaim: { claimName: 'missing' } };
    const pod = makePod('p', { spec: { volumes: [claim] } });
    const result = schedulePod(pod, snapshotOf([]), { framework, random, startAt: 3 });
    assert.ok(!result.fits);
    assert.deepEqual([result.refused?.plugin, result.statuses.asked.size, result.nextStart], [noNodes, 0, 0]);
    assert.equal(place(pod, []), 'no nodes available to schedule pods');
  });

  test('by nodeSelector, also by the beta label of the operating system', () => {
    const windows = nodeWith(
      makeNode('w', { labels: { 'kubernetes.io/os': 'windows', 'beta.kubernetes.io/os': 'windows' } }),
    );
    const linux = nodeWith(makeNode('l', { labels: { 'beta.kubernetes.io/os': 'linux' } }));
    for (const key of ['kubernetes.io/os', 'beta.kubernetes.io/os']) {
      assert.equal(
        place(makePod('p', { spec: { nodeSelector: { [key]: 'windows' } } }), [linux, windows]),
        'w',
      );
    }
    assert.equal(
      place(makePod('p', { spec: { nodeSelector: { disk: 'ssd' } } }), [linux, windows]),
      "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
    );
  });

  test('to a node of its system, without selector or toleration', () => {
    const windows = makeNode('w', { labels: { 'kubernetes.io/os': 'windows' } });
    const withImage = {
      ...windows,
      status: { ...windows.status, images: [{ names: ['porthole.local/iis:1'], sizeBytes: 1 }] },
    };
    const nodes = [nodeWith(makeNode('l', { cpu: '1' })), nodeWith(withImage)];
    const of = (spec: object): string => place(makePod('p', { cpu: '500m', spec }), nodes);
    const image = (name: string): object => ({ containers: [{ name: 'c', image: name }] });
    assert.equal(of({ os: { name: 'windows' } }), 'w');
    assert.equal(of({ nodeSelector: { 'kubernetes.io/os': 'windows' } }), 'w');
    assert.equal(of(image('porthole.local/iis:1')), 'w');
    assert.equal(of(image('nginx')), 'l');
    assert.equal(
      place(makePod('p', { cpu: '2', spec: { os: { name: 'linux' } } }), nodes),
      "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't have the pod's operating system {linux}.",
    );
  });

  test('past a taint only with a toleration', () => {
    const tainted = nodeWith(
      makeNode('w', { spec: { taints: [{ key: 'os', value: 'windows', effect: 'NoSchedule' }] } }),
    );
    assert.equal(
      place(makePod('p'), [tainted]),
      '0/1 nodes are available: 1 node(s) had untolerated taint(s).',
    );
    assert.equal(
      place(makePod('p', { spec: { tolerations: [{ key: 'os', operator: 'Exists' }] } }), [tainted]),
      'w',
    );
  });

  test('away from PreferNoSchedule', () => {
    const avoided = nodeWith(makeNode('a', { spec: { taints: [{ key: 'k', effect: 'PreferNoSchedule' }] } }));
    assert.equal(place(makePod('p', { cpu: '1' }), [avoided, nodeWith(makeNode('b'))]), 'b');
  });

  test('not to a cordoned node unless it tolerates that', () => {
    const cordoned = nodeWith(makeNode('n', { spec: { unschedulable: true } }));
    assert.equal(place(makePod('p'), [cordoned]), '0/1 nodes are available: 1 node(s) were unschedulable.');
    const tolerations = [
      { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
    ];
    assert.equal(place(makePod('p', { spec: { tolerations } }), [cordoned]), 'n');
  });

  test('where its host port is free', () => {
    const withPort = (name: string, hostIP?: string): Pod =>
      makePod(name, {
        spec: {
          containers: [
            {
              name: 'c',
              image: 'i',
              ports: [{ containerPort: 80, hostPort: 8080, ...(hostIP ? { hostIP } : {}) }],
            },
          ],
        },
      });
    const taken = nodeWith(makeNode('n'), withPort('a'));
    assert.equal(
      place(withPort('p'), [taken]),
      "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
    );
    assert.equal(place(withPort('p', '10.0.0.1'), [nodeWith(makeNode('n'), withPort('a', '10.0.0.2'))]), 'n');
  });

  test('to the node that a metadata.name term pins, without a search', () => {
    const nodes = Array.from({ length: 200 }, (_, i) => nodeWith(makeNode(`n${i}`)));
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n150'] }] }],
        },
      },
    };
    assert.equal(place(makePod('p', { spec: { affinity } }), nodes), 'n150');
  });

  test('by preferred node affinity', () => {
    const affinity = {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 100, preference: { matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] } },
        ],
      },
    };
    assert.equal(
      place(makePod('p', { spec: { affinity } }), [
        nodeWith(makeNode('a')),
        nodeWith(makeNode('b', { labels: { zone: 'b' } })),
      ]),
      'b',
    );
  });

  test('away from pods that its anti-affinity names, and from pods whose anti-affinity names it', () => {
    const term = { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: 'kubernetes.io/hostname' };
    const alone = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    const web = makePod('a', { labels: { app: 'web' }, node: 'n1' });
    const jealous = makePod('j', { labels: { app: 'web' }, node: 'n1', spec: { affinity: alone } });
    assert.equal(
      place(makePod('p', { spec: { affinity: alone } }), [
        nodeWith(makeNode('n1'), web),
        nodeWith(makeNode('n2')),
      ]),
      'n2',
    );
    assert.equal(
      place(makePod('p', { labels: { app: 'web' } }), [nodeWith(makeNode('n1'), jealous)]),
      "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules.",
    );
  });

  test('near pods that its affinity names; the first of a group may start anywhere', () => {
    const term = { labelSelector: { matchLabels: { app: 'db' } }, topologyKey: 'kubernetes.io/hostname' };
    const near = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    const nodes = [
      nodeWith(makeNode('n1')),
      nodeWith(makeNode('n2'), makePod('db', { labels: { app: 'db' } })),
    ];
    assert.equal(place(makePod('p', { spec: { affinity: near } }), nodes), 'n2');
    assert.equal(
      place(makePod('p', { spec: { affinity: near } }), [nodes[0]!]),
      "0/1 nodes are available: 1 node(s) didn't match pod affinity rules.",
    );
    assert.equal(place(makePod('p', { labels: { app: 'db' }, spec: { affinity: near } }), [nodes[0]!]), 'n1');
  });

  test('near a pod that matches all terms of its affinity; those that match one of them are not near', () => {
    const term = (labels: Record<string, string>, topologyKey: string): object => ({
      labelSelector: { matchLabels: labels },
      topologyKey,
    });
    const terms = [term({ app: 'web' }, 'zone'), term({ tier: 'front' }, 'rack')];
    const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
    const spec = { affinity } as never;
    const labels = { app: 'web', tier: 'front' };
    const node = (name: string, rack: string, ...there: Pod[]): NodeInfo =>
      nodeWith(makeNode(name, { labels: { zone: 'a', rack } }), ...there);
    const halves = [makePod('x', { labels: { app: 'web' } }), makePod('y', { labels: { tier: 'front' } })];
    const nowhere = "0/1 nodes are available: 1 node(s) didn't match pod affinity rules.";
    assert.equal(place(makePod('p', { spec }), [node('n', '1', ...halves)]), nowhere);
    // Nobody is there whom it wants: it is the first of its group.
    assert.equal(place(makePod('p', { labels, spec }), [node('n', '1', ...halves)]), 'n');
    // One is: it goes to its rack, and not to another of the zone.
    const peer = makePod('z', { labels });
    assert.equal(place(makePod('p', { labels, spec }), [node('n', '1'), node('m', '2', peer)]), 'm');
    // A node that says of itself no rack is no place, for the first neither.
    const bare = nodeWith(makeNode('n', { labels: { zone: 'a' } }));
    assert.equal(place(makePod('p', { labels, spec }), [bare]), nowhere);
  });

  test('rather where pods are that need or want it, also when those are on nodes where it can not go', () => {
    const term = { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: 'zone' };
    const needing = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    const wanting = {
      podAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 10, podAffinityTerm: term }],
      },
    };
    const web = makePod('p', { labels: { app: 'web' } });
    for (const affinity of [needing, wanting]) {
      const there = makePod('a', { cpu: '1', spec: { affinity } as never });
      const full = nodeWith(makeNode('full', { pods: '1', labels: { zone: 'b' } }), there);
      const free = ['a', 'b', 'c'].map((zone) => nodeWith(makeNode(`in-${zone}`, { labels: { zone } })));
      assert.equal(place(web, [full, ...free]), 'in-b');
    }
  });

  test('so that the spread over a topology stays within maxSkew', () => {
    const spread = {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'zone',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app: 'web' } },
        },
      ],
    };
    const web = (name: string): Pod => makePod(name, { labels: { app: 'web' } });
    const a = nodeWith(makeNode('a', { labels: { zone: 'a' } }), web('1'), web('2'));
    const b = nodeWith(makeNode('b', { labels: { zone: 'b' } }), web('3'));
    assert.equal(place(makePod('p', { labels: { app: 'web' }, spec: spread }), [a, b]), 'b');
  });

  test('nowhere when there are no nodes', () => {
    assert.equal(place(makePod('p'), []), 'no nodes available to schedule pods');
  });
});

test('nine thousand terms of a pod, about two thousand others, hold nobody’s scheduling', () => {
  const nodes = Array.from({ length: 100 }, (_, n) =>
    nodeWith(
      makeNode(`n${n}`),
      ...Array.from({ length: 20 }, (_, i) => makePod(`p${n}-${i}`, { labels: { app: `a${i}` } })),
    ),
  );
  const operators = ['NotIn', 'DoesNotExist', 'Exists'];
  const terms = Array.from({ length: 9_000 }, (_, i) => {
    const operator = operators[i % 3]!;
    const values = operator === 'NotIn' ? { values: [`x${i}`] } : {};
    const key = operator === 'DoesNotExist' ? `k${i}` : 'app';
    return { topologyKey: `rack${i}`, labelSelector: { matchExpressions: [{ key, operator, ...values }] } };
  });
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
  const from = process.cpuUsage();
  for (let i = 0; i < 3; i++) place(makePod('p', { spec: { affinity } as never }), nodes);
  // 54 million terms tried are four seconds.
  assert.ok(process.cpuUsage(from).user < 1_000_000, `${process.cpuUsage(from).user} µs`);
});

test('large clusters are searched only as far as upstream does', () => {
  assert.deepEqual(
    [10, 100, 1000, 5000, 15000].map((total) => feasibleNodesToFind(total)),
    [10, 100, 420, 500, 750],
  );
});
