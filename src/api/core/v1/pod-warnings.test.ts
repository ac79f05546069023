// What upstream warns of, in its words: the pods of old manifests are taken, and some of them can never run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { podWarnings, templateWarnings } from './pod-warnings.ts';

const port = (more: JsonObject = {}): JsonObject => ({ containerPort: 80, protocol: 'TCP', ...more });
const pod = (spec: JsonObject, annotations: JsonObject = {}): JsonObject => ({
  metadata: { name: 'p', annotations },
  spec: { containers: [{ name: 'c' }], ...spec },
});
const ported = (...ports: JsonObject[]): string[] =>
  podWarnings(pod({ containers: [{ name: 'c', ports }] }), undefined);

test('old labels of nodes are named wherever a pod chooses by them', () => {
  const key = 'beta.kubernetes.io/os';
  const preference = { matchExpressions: [{ key: 'a' }, { key }] };
  const spec = {
    nodeSelector: { [key]: 'linux' },
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [preference] },
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }],
      },
    },
    topologySpreadConstraints: [{ topologyKey: 'failure-domain.beta.kubernetes.io/zone' }],
  };
  const word = 'deprecated since v1.14; use "kubernetes.io/os" instead';
  const at = 'spec.affinity.nodeAffinity';
  assert.deepEqual(podWarnings(pod(spec), undefined), [
    `spec.nodeSelector[beta.kubernetes.io/os]: ${word}`,
    `${at}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].key: ${key} is ${word}`,
    `${at}.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[1].key: ${key} is ${word}`,
    'spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    'spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod',
  ]);
});

test('names that say nothing or say it twice, and affinity to no pods, are named', () => {
  const term = { topologyKey: 'z' };
  const spec = {
    hostAliases: [{ ip: '10.0.0.1' }, { ip: '10.0.0.1' }],
    imagePullSecrets: [{ name: 'a' }, { name: 'a' }, {}],
    affinity: {
      podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] },
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }],
      },
    },
  };
  assert.deepEqual(podWarnings(pod(spec), undefined), [
    'spec.hostAliases[1].ip: duplicate ip "10.0.0.1"',
    'spec.imagePullSecrets[1].name: duplicate name "a"',
    'spec.imagePullSecrets[2].name: invalid empty name ""',
    'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod',
    'spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: a null labelSelector results in matching no pod',
  ]);
});

test('annotations and volumes without effect are named, of a pod and of a template', () => {
  const annotations = { 'scheduler.alpha.kubernetes.io/critical-pod': '' };
  const volumes = [
    { name: 'a', rbd: {} },
    { name: 'b', emptyDir: {} },
    { name: 'c', storageos: {} },
  ];
  const { metadata, spec } = pod({ volumes }, annotations) as { metadata: JsonObject; spec: JsonObject };
  const said = (path: string): string[] => [
    `${path}metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead`,
    `${path}spec.volumes[0].rbd: deprecated in v1.28, non-functional in v1.31+`,
    `${path}spec.volumes[2].storageOS: deprecated in v1.22, non-functional in v1.25+`,
  ];
  assert.deepEqual(podWarnings({ metadata, spec }, undefined), said(''));
  assert.deepEqual(templateWarnings({ spec: { template: { metadata, spec } } }), said('spec.template.'));
  assert.deepEqual(podWarnings({ metadata, spec }, { metadata, spec }), []);
});

test('a port that is defined twice is named, and thousands of them do not fill the answer', () => {
  const with0 = 'port definition with spec.containers[0].ports[0]';
  assert.deepEqual(ported(port(), port()), [`spec.containers[0].ports[1]: duplicate ${with0}`]);
  assert.deepEqual(ported(port({ hostPort: 8080 }), port()), [
    `spec.containers[0].ports[1]: overlapping ${with0}`,
  ]);
  assert.deepEqual(ported(port({ hostPort: 8080 }), port({ hostPort: 8080, hostIP: '10.0.0.1' })), [
    `spec.containers[0].ports[1]: dangerously ambiguous ${with0}`,
  ]);
  assert.deepEqual(ported(port(), port({ protocol: 'UDP' })), []);
  assert.equal(ported(...Array.from({ length: 5000 }, () => port())).length, 20);
});
