// The pod's own words before its images, its images before the default.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec } from '../api/generated/types/core-v1.ts';
import { isOfSystem, podSystem, type SystemNode, taggedImageName } from './pod-system.ts';

const node = (os: string | undefined, ...images: string[]): SystemNode => ({
  labels: os === undefined ? {} : { 'kubernetes.io/os': os },
  hasImage: (name) => images.includes(name),
});
const nodes = [
  node('linux', 'web:1', 'both:1'),
  node('windows', 'iis:latest', 'both:1', 'docker.io/my/win:1', 'docker.io/library/short:latest'),
];
const pod = (image: string, spec: object = {}): PodSpec => ({ containers: [{ name: 'c', image }], ...spec });
const affinity = (key: string): object => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'Exists' }] }],
      },
    },
  },
});

const rows: readonly [string, PodSpec, string | undefined][] = [
  ['spec.os', pod('web:1', { os: { name: 'windows' } }), 'windows'],
  ['spec.os against its image', pod('iis', { os: { name: 'linux' } }), 'linux'],
  [
    'a selector that names the system',
    pod('x', { nodeSelector: { 'kubernetes.io/os': 'windows' } }),
    undefined,
  ],
  ['the beta label', pod('x', { nodeSelector: { 'beta.kubernetes.io/os': 'windows' } }), undefined],
  [
    'a build of Windows',
    pod('x', { nodeSelector: { 'node.kubernetes.io/windows-build': '10.0.20348' } }),
    undefined,
  ],
  ['a selector of something else', pod('x', { nodeSelector: { disk: 'ssd' } }), 'linux'],
  ['affinity that names the system', pod('x', affinity('kubernetes.io/os')), undefined],
  ['affinity to something else', pod('x', affinity('disk')), 'linux'],
  ['an image that Windows nodes alone have', pod('iis'), 'windows'],
  ['the short name of an image that Windows nodes list in full', pod('my/win:1'), 'windows'],
  ['the shortest name of such an image', pod('short'), 'windows'],
  ['an image that both have', pod('both:1'), 'linux'],
  ['an image that Linux nodes have', pod('web:1'), 'linux'],
  ['an image that nobody has', pod('new:1'), 'linux'],
  [
    'a Windows user name',
    pod('new:1', { securityContext: { windowsOptions: { runAsUserName: 'ContainerUser' } } }),
    'windows',
  ],
  [
    "a container's Windows options",
    {
      containers: [{ name: 'c', image: 'new:1', securityContext: { windowsOptions: { hostProcess: true } } }],
    },
    'windows',
  ],
];
for (const [what, spec, expected] of rows) {
  test(`${what} decides: ${expected ?? 'any'}`, () => assert.equal(podSystem(spec, nodes), expected));
}

test('in a cluster of one system, or of nodes that do not say theirs, only spec.os counts', () => {
  for (const own of [[node('windows')], [node('linux')], [node(undefined), node('windows')], []])
    assert.equal(podSystem(pod('x'), own), undefined);
  assert.equal(podSystem(pod('x', { os: { name: 'windows' } }), [node('linux')]), 'windows');
  assert.equal(isOfSystem({}, 'windows'), true);
  assert.equal(isOfSystem({ 'kubernetes.io/os': 'linux' }, 'windows'), false);
});

test('a name without a tag is the latest', () => {
  assert.deepEqual(['iis', 'host:5000/iis', 'iis:1', 'iis@sha256:0'].map(taggedImageName), [
    'iis:latest',
    'host:5000/iis:latest',
    'iis:1',
    'iis@sha256:0',
  ]);
});
