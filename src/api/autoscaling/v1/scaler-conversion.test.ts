// What annotations of an autoscaler of v1 say is read as its type, is under the rules, and comes back as upstream writes it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import { meta, obj, spec, status } from '../../../apimachinery/json-access.ts';
import { createScheme } from '../../scheme.ts';
import { decodeResource } from '../../testing/decode-resource.ts';

const scheme = createScheme();
const v1 = scheme.resource('autoscaling', 'v1', 'horizontalpodautoscalers')!;
const v2 = scheme.resource('autoscaling', 'v2', 'horizontalpodautoscalers')!;
const prefix = 'autoscaling.alpha.kubernetes.io/';
const scaleTargetRef = { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' };
const cpu = (averageUtilization: number): JsonObject => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
});

const annotated = (notes: Readonly<Record<string, string>>): JsonObject => ({
  kind: 'HorizontalPodAutoscaler',
  apiVersion: 'autoscaling/v1',
  metadata: {
    name: 'h',
    annotations: Object.fromEntries(Object.entries(notes).map(([key, text]) => [prefix + key, text])),
  },
  spec: { scaleTargetRef, maxReplicas: 3 },
  status: {},
});
const kept = (notes: Readonly<Record<string, string>>): JsonObject =>
  v1.conversion!.toStorage(annotated(notes));
const refused = (notes: Readonly<Record<string, string>>): readonly string[] =>
  (v1.strategy.validate?.(annotated(notes)) ?? []).map(({ field, message }) => `${field}: ${message}`);

const deep = `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`;

for (const key of ['metrics', 'behavior', 'conditions', 'current-metrics'])
  test(`what is not of the type of ${key} says nothing, and does not stay`, () => {
    for (const text of ['["x",5,{"type":7}]', '[5]', '5', '"x"', '{', deep, '{"scaleUp":{"policies":"x"}}']) {
      const stored = kept({ [key]: text });
      assert.deepEqual(spec(stored)['metrics'], [cpu(80)], text.slice(0, 40));
      assert.equal(spec(stored)['behavior'], undefined);
      assert.equal(status(stored)['currentMetrics'], null);
      assert.equal(status(stored)['conditions'], undefined);
      assert.equal(meta(stored)['annotations'], undefined);
    }
  });

test('fields that a type does not have are dropped, however deep they go', () => {
  const stored = kept({ metrics: `[{"type":"Pods","pods":{"metricName":"m","x":${deep}},"y":${deep}}]` });
  assert.deepEqual(spec(stored)['metrics'], [
    {
      type: 'Pods',
      pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '0' } },
    },
  ]);
});

test('annotations are under the rules of the fields that they become', () => {
  assert.deepEqual(refused({ behavior: '{"ScaleDown":{"StabilizationWindowSeconds":-5,"Policies":[]}}' }), [
    'spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: -5: must be greater than or equal to zero',
    'spec.behavior.scaleDown.policies: Required value: must specify at least one Policy',
  ]);
  assert.deepEqual(refused({ metrics: '[{"type":"Pods","pods":{"metricName":"a/b"}}]' }), [
    `spec.metrics[0].pods.metric.name: Invalid value: "a/b": may not contain '/'`,
    'spec.metrics[0].pods.target.averageValue: Invalid value: "0": must be positive',
  ]);
});

const metric = { name: 'm', selector: { matchLabels: { a: 'b' } } };
const describedObject = { kind: 'Service', name: 's' };
const metrics: JsonObject[] = [
  { type: 'Object', object: { describedObject, metric, target: { type: 'Value', value: '2' } } },
  { type: 'Pods', pods: { metric, target: { type: 'AverageValue', averageValue: '3' } } },
  { type: 'Resource', resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 7 } } },
  {
    type: 'ContainerResource',
    containerResource: { name: 'cpu', container: 'c', target: { type: 'AverageValue', averageValue: '1' } },
  },
  { type: 'External', external: { metric, target: { type: 'AverageValue', averageValue: '4' } } },
];
const currentMetrics: JsonObject[] = [
  { type: 'Object', object: { describedObject, metric, current: { value: '2' } } },
  { type: 'Pods', pods: { metric, current: { averageValue: '3' } } },
  { type: 'Resource', resource: { name: 'cpu', current: { averageValue: '5m', averageUtilization: 7 } } },
  {
    type: 'ContainerResource',
    containerResource: { name: 'cpu', container: 'c', current: { averageValue: '1' } },
  },
  { type: 'External', external: { metric, current: { value: '0', averageValue: '4' } } },
];
const rules = {
  policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }],
  selectPolicy: 'Max',
  tolerance: '50m',
};
const conditions: JsonObject[] = [
  { type: 'AbleToScale', status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z', message: '1 < 2' },
];

test('an autoscaler of v2 says all it knows in v1, word for word as upstream, and is the same when it comes back', () => {
  const whole: JsonObject = {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v2',
    metadata: { name: 'h', annotations: { mine: 'yes', [`${prefix}scale-up-tolerance`]: '1' } },
    spec: {
      scaleTargetRef,
      minReplicas: 1,
      maxReplicas: 3,
      metrics: [...metrics, cpu(60)],
      behavior: { scaleUp: { ...rules, stabilizationWindowSeconds: 0 } },
    },
    status: { currentReplicas: 1, desiredReplicas: 2, currentMetrics, conditions },
  };
  const shown = v1.conversion!.fromStorage(structuredClone(whole));
  const target = '"target":{"kind":"Service","name":"s"},"metricName":"m"';
  const selected = '{"matchLabels":{"a":"b"}}';
  assert.equal(spec(shown)['targetCPUUtilizationPercentage'], 60);
  assert.equal(status(shown)['currentCPUUtilizationPercentage'], 7);
  assert.deepEqual(meta(shown)['annotations'], {
    mine: 'yes',
    [`${prefix}metrics`]:
      `[{"type":"Object","object":{${target},"targetValue":"2","selector":${selected}}}` +
      `,{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"3","selector":${selected}}}` +
      ',{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":7}}' +
      ',{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageValue":"1","container":"c"}}' +
      `,{"type":"External","external":{"metricName":"m","metricSelector":${selected},"targetAverageValue":"4"}}]`,
    [`${prefix}current-metrics`]:
      `[{"type":"Object","object":{${target},"currentValue":"2","selector":${selected}}}` +
      `,{"type":"Pods","pods":{"metricName":"m","currentAverageValue":"3","selector":${selected}}}` +
      ',{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":7,"currentAverageValue":"5m"}}' +
      ',{"type":"ContainerResource","containerResource":{"name":"cpu","currentAverageValue":"1","container":"c"}}' +
      `,{"type":"External","external":{"metricName":"m","metricSelector":${selected},"currentValue":"0","currentAverageValue":"4"}}]`,
    [`${prefix}behavior`]:
      '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":"50m"},"ScaleDown":null}',
    [`${prefix}conditions`]:
      '[{"type":"AbleToScale","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z","message":"1 \\u003c 2"}]',
  });
  const back = v1.conversion!.toStorage(structuredClone(shown));
  assert.deepEqual(back, { ...whole, metadata: { name: 'h', annotations: { mine: 'yes' } } });
  assert.deepEqual(v2.strategy.validate?.(back), []);
});

test('an autoscaler of v1 that measures nothing is for four fifths of the processors, and keeps the usage it tells', () => {
  const body: Json = annotated({});
  decodeResource(scheme, v1, body);
  obj(body['status'])['currentCPUUtilizationPercentage'] = 30;
  const stored = v1.conversion!.toStorage(body);
  assert.deepEqual(spec(stored)['metrics'], [cpu(80)]);
  assert.deepEqual(status(stored)['currentMetrics'], [
    { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 30 } } },
  ]);
});
