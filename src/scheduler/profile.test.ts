// Which plugins work where, as upstream expands multiPoint and merges what a profile says with the defaults.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseYaml } from '../base/yaml.ts';
import { usualArgs } from './config/plugin-args.ts';
import { readSchedulerConfiguration } from './config/scheduler-configuration.ts';
import { defaultPlugins } from './plugins/registry.ts';
import { type PluginsByPoint, pluginsByPoint } from './profile.ts';
import { testPluginDeps } from './testing/plugin-deps.ts';

function points(plugins: string): PluginsByPoint {
  const configuration = readSchedulerConfiguration({
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    profiles: [{ plugins: parseYaml(plugins) }],
  });
  return pluginsByPoint(configuration.profiles[0]!, defaultPlugins(testPluginDeps(), usualArgs()));
}
const named = (list: PluginsByPoint[keyof PluginsByPoint]): string[] => list.map(({ plugin }) => plugin.name);
const weights = ({ score }: PluginsByPoint): Record<string, number> =>
  Object.fromEntries(score.map(({ plugin, weight }) => [plugin.name, weight]));

test("the default plugins are upstream's, with its weights", () => {
  const usual = points('{}');
  assert.deepEqual(weights(usual), {
    TaintToleration: 3,
    NodeAffinity: 2,
    NodeResourcesFit: 1,
    PodTopologySpread: 2,
    InterPodAffinity: 2,
    NodeResourcesBalancedAllocation: 1,
    ImageLocality: 1,
  });
  assert.deepEqual(named(usual.postFilter), ['DynamicResources', 'DefaultPreemption']);
  assert.deepEqual(named(usual.queueSort), ['PrioritySort']);
  assert.deepEqual(
    named(usual.filter).filter((name) => name !== 'PodSystem'),
    [
      'NodeUnschedulable',
      'NodeName',
      'TaintToleration',
      'NodeAffinity',
      'NodePorts',
      'NodeResourcesFit',
      'VolumeRestrictions',
      'NodeVolumeLimits',
      'VolumeBinding',
      'VolumeZone',
      'PodTopologySpread',
      'InterPodAffinity',
      'DynamicResources',
    ],
  );
});

test('a plugin is taken out of one point, of all, or all of one', () => {
  const changed = points(`
score: {disabled: [{name: NodeAffinity}]}
postFilter: {disabled: [{name: '*'}]}
multiPoint: {disabled: [{name: ImageLocality}]}
`);
  assert.ok(!('NodeAffinity' in weights(changed)) && !('ImageLocality' in weights(changed)));
  assert.ok(named(changed.filter).includes('NodeAffinity'));
  assert.deepEqual(changed.postFilter, []);
  const only = points(
    'multiPoint: {disabled: [{name: "*"}], enabled: [{name: PrioritySort}, {name: NodePorts}, {name: DefaultBinder}]}',
  );
  assert.deepEqual(named(only.filter), ['NodePorts']);
});

test('weights are those of the point, else of multiPoint, else the default', () => {
  const changed = points(`
score: {enabled: [{name: ImageLocality, weight: 7}, {name: NodeResourcesFit}]}
multiPoint: {enabled: [{name: TaintToleration, weight: 9}]}
`);
  const { ImageLocality, InterPodAffinity, NodeResourcesFit, TaintToleration } = weights(changed);
  assert.deepEqual([ImageLocality, NodeResourcesFit, TaintToleration, InterPodAffinity], [7, 1, 9, 2]);
  // What a point names anew comes first there, in its order.
  assert.deepEqual(named(changed.score).slice(0, 3), [
    'ImageLocality',
    'NodeResourcesFit',
    'TaintToleration',
  ]);
});

for (const [plugins, message] of [
  ['filter: {enabled: [{name: Nobody}]}', 'FilterPlugin "Nobody" does not exist'],
  [
    'filter: {enabled: [{name: ImageLocality}]}',
    'plugin "ImageLocality" does not extend FilterPlugin plugin',
  ],
  [
    'filter: {enabled: [{name: NodePorts}, {name: NodePorts}]}',
    'plugin "NodePorts" already registered as "FilterPlugin"',
  ],
  [
    'bind: {disabled: [{name: DefaultBinder}]}',
    'at least one bind plugin is needed for profile with scheduler name "default-scheduler"',
  ],
  [
    'queueSort: {disabled: [{name: "*"}]}',
    'only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0',
  ],
] as const)
  test(`refused: ${plugins}`, () => {
    assert.throws(() => points(plugins), { message });
  });
