// Which changes are worth another try of a pod that a plugin refused, in upstream's cases: what can't help doesn't wake it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node, Pod } from '../../api/generated/types/core-v1.ts';
import { usualArgs } from '../config/plugin-args.ts';
import type { Change, ClusterEvent, Plugin } from '../framework/plugin.ts';
import { makeNode, makePod } from '../testing/builders.ts';
import { testPluginDeps } from '../testing/plugin-deps.ts';
import { defaultPlugins } from './registry.ts';

const plugins = new Map<string, Plugin>(
  defaultPlugins(testPluginDeps(), usualArgs()).map(({ plugin }) => [plugin.name, plugin]),
);

function wakes(plugin: string, pod: Pod, event: ClusterEvent, change: Change): boolean {
  const known = plugins.get(plugin)?.requeueOn ?? [];
  return known.some((one) =>
    typeof one === 'string' ? one === event : one.on.includes(event) && one.helps(pod, change),
  );
}

const taint = (key: string): Partial<Node['spec']> => ({ taints: [{ key, effect: 'NoSchedule' }] });
const hostPort = (port: number) => ({
  spec: { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 1, hostPort: port }] }] },
});
const near = (app: string) => ({
  spec: {
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'zone', labelSelector: { matchLabels: { app } } },
        ],
      },
    },
  },
});
const away = (app: string) => ({
  spec: {
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'zone', labelSelector: { matchLabels: { app } } },
        ],
      },
    },
  },
});
const spread = {
  labels: { app: 'a' },
  spec: {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'a' } },
      },
    ],
  },
};
const selector = { spec: { nodeSelector: { disk: 'ssd' } } };
const app = (name: string): Pod => makePod('other', { labels: { app: name } });
const zoned = makeNode('n', { labels: { zone: 'z' } });

const cases: Record<string, readonly [Pod, ClusterEvent, Change, boolean][]> = {
  NodeResourcesFit: [
    [makePod('p', { cpu: '2' }), 'NodeAdd', { node: makeNode('n', { cpu: '1' }) }, false],
    [makePod('p', { cpu: '2' }), 'NodeAdd', { node: makeNode('n', { cpu: '2' }) }, true],
    [
      makePod('p', { cpu: '2' }),
      'NodeUpdateNodeAllocatable',
      {
        oldNode: makeNode('n', { cpu: '2', memory: '1Gi' }),
        node: makeNode('n', { cpu: '2', memory: '2Gi' }),
      },
      false,
    ],
    [
      makePod('p', { cpu: '2' }),
      'NodeUpdateNodeAllocatable',
      { oldNode: makeNode('n', { cpu: '2' }), node: makeNode('n', { cpu: '3' }) },
      true,
    ],
    [
      makePod('p', { cpu: '2' }),
      'NodeUpdateNodeAllocatable',
      { oldNode: makeNode('n', { pods: '1' }), node: makeNode('n', { pods: '2' }) },
      true,
    ],
    [makePod('p'), 'AssignedPodDelete', { oldPod: makePod('gone') }, true],
    [
      makePod('p', { cpu: '1' }),
      'AssignedPodUpdatePodScaleDown',
      { oldPod: makePod('o', { cpu: '2' }), pod: makePod('o', { cpu: '1' }) },
      true,
    ],
    [
      makePod('p', { memory: '1Gi' }),
      'AssignedPodUpdatePodScaleDown',
      { oldPod: makePod('o', { cpu: '2' }), pod: makePod('o', { cpu: '1' }) },
      false,
    ],
    [makePod('p'), 'NodeUpdateNodeLabel', {}, false],
  ],
  TaintToleration: [
    [makePod('p'), 'NodeAdd', { node: makeNode('n', { spec: taint('k') }) }, false],
    [makePod('p'), 'NodeAdd', { node: makeNode('n') }, true],
    [
      makePod('p'),
      'NodeUpdateNodeTaint',
      { oldNode: makeNode('n', { spec: taint('k') }), node: makeNode('n') },
      true,
    ],
    [
      makePod('p'),
      'NodeUpdateNodeTaint',
      { oldNode: makeNode('n', { spec: taint('k') }), node: makeNode('n', { spec: taint('l') }) },
      false,
    ],
    [makePod('p'), 'UnschedulablePodUpdatePodLabel', {}, false],
    [makePod('p'), 'UnschedulablePodUpdatePodToleration', {}, true],
  ],
  NodeUnschedulable: [
    [makePod('p'), 'NodeAdd', { node: makeNode('n', { spec: { unschedulable: true } }) }, false],
    [
      makePod('p'),
      'NodeUpdateNodeTaint',
      { oldNode: makeNode('n', { spec: { unschedulable: true } }), node: makeNode('n') },
      true,
    ],
    [makePod('p'), 'NodeUpdateNodeTaint', { oldNode: makeNode('n'), node: makeNode('n') }, false],
    [
      makePod('p', { spec: { tolerations: [{ operator: 'Exists' }] } }),
      'UnschedulablePodUpdatePodToleration',
      {},
      true,
    ],
  ],
  NodeAffinity: [
    [makePod('p', selector), 'NodeAdd', { node: makeNode('n') }, false],
    [makePod('p', selector), 'NodeAdd', { node: makeNode('n', { labels: { disk: 'ssd' } }) }, true],
    [
      makePod('p', selector),
      'NodeUpdateNodeLabel',
      {
        oldNode: makeNode('n', { labels: { disk: 'ssd' } }),
        node: makeNode('n', { labels: { disk: 'ssd', x: 'y' } }),
      },
      false,
    ],
  ],
  NodeName: [[makePod('p', { node: 'a' }), 'NodeAdd', { node: makeNode('b') }, false]],
  NodePorts: [
    [makePod('p', hostPort(80)), 'AssignedPodDelete', { oldPod: makePod('o', hostPort(80)) }, true],
    [makePod('p', hostPort(80)), 'AssignedPodDelete', { oldPod: makePod('o', hostPort(81)) }, false],
  ],
  SchedulingGates: [
    [
      makePod('p', { spec: { schedulingGates: [{ name: 'one' }] } }),
      'UnschedulablePodUpdatePodSchedulingGatesEliminated',
      {},
      false,
    ],
    [makePod('p'), 'UnschedulablePodUpdatePodSchedulingGatesEliminated', {}, true],
  ],
  InterPodAffinity: [
    [makePod('p', near('a')), 'AssignedPodAdd', { pod: app('a') }, true],
    [makePod('p', near('a')), 'AssignedPodAdd', { pod: app('b') }, false],
    [makePod('p', near('a')), 'AssignedPodDelete', { oldPod: app('b') }, false],
    [makePod('p', away('a')), 'AssignedPodDelete', { oldPod: app('a') }, true],
    [makePod('p', away('a')), 'AssignedPodAdd', { pod: app('a') }, false],
    [makePod('p', away('a')), 'AssignedPodUpdatePodLabel', { oldPod: app('a'), pod: app('b') }, true],
    [makePod('p', near('a')), 'AssignedPodUpdatePodLabel', { oldPod: app('b'), pod: app('a') }, true],
    [
      makePod('p', { labels: { app: 'a' } }),
      'AssignedPodDelete',
      { oldPod: makePod('jealous', away('a')) },
      true,
    ],
    [makePod('p', near('a')), 'NodeAdd', { node: makeNode('n') }, false],
    [makePod('p', near('a')), 'NodeAdd', { node: zoned }, true],
    [makePod('p', near('a')), 'NodeUpdateNodeLabel', { oldNode: zoned, node: zoned }, false],
  ],
  PodTopologySpread: [
    [makePod('p', spread), 'AssignedPodAdd', { pod: app('a') }, true],
    [makePod('p', spread), 'AssignedPodAdd', { pod: app('b') }, false],
    [makePod('p', spread), 'AssignedPodUpdatePodLabel', { oldPod: app('a'), pod: app('a') }, false],
    [makePod('p', spread), 'NodeAdd', { node: makeNode('n') }, false],
    [makePod('p', spread), 'NodeDelete', { oldNode: zoned }, true],
  ],
};

describe('a change wakes pods that', () => {
  for (const [plugin, rows] of Object.entries(cases))
    test(`${plugin} has refused only if it may help them`, () => {
      for (const [i, [pod, event, change, expected]] of rows.entries())
        assert.equal(wakes(plugin, pod, event, change), expected, `${event}, case ${i}`);
    });
});
