// What a KubeSchedulerConfiguration says, what it leaves to defaults, and what is refused in upstream's words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseYaml } from '../../base/yaml.ts';
import { readSchedulerConfiguration, usualConfiguration } from './scheduler-configuration.ts';

const head = 'apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n';
const read = (text: string) => readSchedulerConfiguration(parseYaml(`${head}${text}`));

test('what says nothing is the default', () => {
  assert.deepEqual(read(''), usualConfiguration());
});

test('profiles, plugins, arguments and extenders are read, and what they leave out is filled in', () => {
  const { extenders, percentageOfNodesToScore, podMaxBackoffSeconds, profiles } = read(`
percentageOfNodesToScore: 30
podMaxBackoffSeconds: 20
leaderElection: {leaderElect: false}
profiles:
- schedulerName: packing
  percentageOfNodesToScore: 50
  plugins:
    score:
      disabled: [{name: '*'}]
      enabled: [{name: NodeResourcesFit, weight: 5}]
    multiPoint:
      disabled: [{name: ImageLocality}]
  pluginConfig:
  - name: NodeResourcesFit
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesFitArgs
      scoringStrategy:
        type: MostAllocated
        resources: [{name: cpu, weight: 3}, {name: memory}]
- schedulerName: other
extenders:
- urlPrefix: http://127.0.0.1:8888/
  filterVerb: filter
  httpTimeout: 2s
`);
  assert.deepEqual([percentageOfNodesToScore, podMaxBackoffSeconds], [30, 20]);
  const [packing, other] = profiles;
  assert.equal(packing?.percentageOfNodesToScore, 50);
  assert.deepEqual(packing?.plugins.score, {
    enabled: [{ name: 'NodeResourcesFit', weight: 5 }],
    disabled: [{ name: '*' }],
  });
  assert.deepEqual(packing?.args.NodeResourcesFit.scoringStrategy, {
    type: 'MostAllocated',
    resources: [
      { name: 'cpu', weight: 3 },
      { name: 'memory', weight: 1 },
    ],
    requestedToCapacityRatio: undefined,
  });
  assert.equal(other?.args.NodeResourcesFit.scoringStrategy.type, 'LeastAllocated');
  assert.deepEqual(
    [extenders[0]?.httpTimeoutMs, extenders[0]?.ignorable, extenders[0]?.filterVerb],
    [2_000, false, 'filter'],
  );
});

for (const [text, message] of [
  ['kinds: 1', /^strict decoding error: unknown field "kinds"$/],
  ['profiles: 1', /^failed decoding: profiles: expected array, got number$/],
  ['parallelism: 0', /^parallelism: Invalid value: 0: should be an integer value greater than zero$/],
  [
    'percentageOfNodesToScore: 101',
    /^percentageOfNodesToScore: Invalid value: 101: not in valid range \[0-100\]$/,
  ],
  ['podInitialBackoffSeconds: 0', /^podInitialBackoffSeconds: Invalid value: 0: must be greater than 0$/],
  [
    'podInitialBackoffSeconds: 5\npodMaxBackoffSeconds: 1',
    /^podMaxBackoffSeconds: Invalid value: 1: must be greater than or equal to PodInitialBackoffSeconds$/,
  ],
  ['profiles: [{schedulerName: a}, {}]', /^profiles\[1\]\.schedulerName: Required value$/],
  [
    'profiles: [{schedulerName: a}, {schedulerName: a}]',
    /^profiles\[1\]\.schedulerName: Duplicate value: "profiles\[0\]\.schedulerName"$/,
  ],
  [
    'profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {enabled: [{name: X}]}}}]',
    /^profiles\[1\]\.plugins\.queueSort: Invalid value: .*: must be the same for all profiles$/,
  ],
  [
    'profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]',
    /^profiles\[0\]\.plugins\.filter\.enabled\[0\]: Invalid value: "EBSLimits": was invalid in version "kubescheduler.config.k8s.io\/v1" /,
  ],
  [
    'profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}]',
    /^profiles\[0\]\.pluginConfig\[0\]\.args\.hardPodAffinityWeight: Invalid value: 101: not in valid range \[0, 100\]$/,
  ],
  [
    'profiles: [{pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}}]}]',
    /^\[profiles\[0\]\.pluginConfig\[0\]\.args\.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute, /,
  ],
  [
    'profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Best}}}]}]',
    /scoringStrategy\.type: Unsupported value: "Best": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"$/,
  ],
  [
    'profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 5, score: 11}, {utilization: 1, score: 0}]}}}}]}]',
    /shape\[1\]\.utilization: Invalid value: 1: values must be sorted in increasing order, .*shape\[0\]\.score: Invalid value: 11: not in valid range \[0, 10\]/,
  ],
  [
    'profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: Never}]}}]}]',
    /defaultingType: Invalid value: "System": when \.defaultConstraints are not empty, .*maxSkew: Invalid value: 0: not in valid range \(0, inf\), .*whenUnsatisfiable: Unsupported value: "Never"/,
  ],
  [
    'profiles: [{pluginConfig: [{name: VolumeBinding, args: {x: 1}}]}]',
    /^strict decoding error: unknown field "x"$/,
  ],
  [
    'profiles: [{pluginConfig: [{name: VolumeBinding, args: {kind: NodeAffinityArgs}}]}]',
    /^args for plugin VolumeBinding were not of type VolumeBindingArgs/,
  ],
  [
    'extenders: [{urlPrefix: a, prioritizeVerb: p}]',
    /^extenders\[0\]\.weight: Invalid value: 0: must have a positive weight applied to it$/,
  ],
  [
    'extenders: [{bindVerb: a}, {bindVerb: b}]',
    /^extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind$/,
  ],
  [
    'extenders: [{managedResources: [{name: cpu}]}]',
    /^extenders\[0\]\.managedResources\[0\]\.name: Invalid value: "cpu": is an invalid extended resource name$/,
  ],
] as const)
  test(`refused: ${text}`, () => {
    assert.throws(() => read(text), { message });
  });

test('another kind is none of ours', () => {
  assert.throws(() => readSchedulerConfiguration({ apiVersion: 'v1', kind: 'Pod' }), {
    message: 'no kind "Pod" is registered for version "v1"',
  });
  assert.throws(() => readSchedulerConfiguration('text'), /Object 'Kind' is missing/);
});
