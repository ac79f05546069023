// Events and autoscalers keep what they hold on the way to the store and back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../apimachinery/declaration.ts';
import { obj } from '../apimachinery/json-access.ts';
import { createScheme } from './scheme.ts';

const scheme = createScheme();

test('an event of events.k8s.io is stored as a core event and comes back the same', () => {
  const d = scheme.resource('events.k8s.io', 'v1', 'events')!;
  assert.deepEqual(d.storage, { group: '', version: 'v1', resource: 'events' });
  const event: JsonObject = {
    kind: 'Event',
    apiVersion: 'events.k8s.io/v1',
    metadata: { name: 'e' },
    regarding: { kind: 'Pod', name: 'p' },
    note: 'hello',
    reason: 'R',
    type: 'Normal',
    action: 'A',
    eventTime: '2026-01-02T03:04:05.000000Z',
    reportingController: 'c',
    reportingInstance: 'i',
    deprecatedSource: {},
  };
  const stored = d.conversion!.toStorage(event);
  assert.equal(stored['apiVersion'], 'v1');
  assert.equal(stored['message'], 'hello');
  assert.deepEqual(d.conversion!.fromStorage(stored), event);
  const core = scheme.resource('', 'v1', 'events')!;
  assert.equal(core.selectableFields(stored)[d.selectableFieldNames.get('regarding.name')!], 'p');
  assert.equal(core.selectableFieldNames.get('regarding.name'), undefined);
  assert.equal(d.row(event, 0)[3], 'pod/p');
});

test('an autoscaler of v1 is stored as v2; metrics that v1 has no field for live in annotations', () => {
  const d = scheme.resource('autoscaling', 'v1', 'horizontalpodautoscalers')!;
  const v1: JsonObject = {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v1',
    metadata: { name: 'h', annotations: { mine: 'yes' } },
    spec: {
      scaleTargetRef: { kind: 'Deployment', name: 'd' },
      maxReplicas: 3,
      targetCPUUtilizationPercentage: 50,
    },
    status: {},
  };
  const v2 = d.conversion!.toStorage(v1);
  assert.deepEqual(obj(v2['spec'])['metrics'], [
    { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
  ]);
  assert.deepEqual(d.conversion!.fromStorage(v2), v1);
  const memory = {
    type: 'Resource',
    resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } },
  };
  const rich = {
    ...v2,
    spec: { ...obj(v2['spec']), metrics: [...(obj(v2['spec'])['metrics'] as []), memory] },
  };
  const back = d.conversion!.toStorage(d.conversion!.fromStorage(rich));
  assert.equal((obj(back['spec'])['metrics'] as []).length, 2);
  assert.deepEqual(obj(back['metadata'])['annotations'], { mine: 'yes' });
});
