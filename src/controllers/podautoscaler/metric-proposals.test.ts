// What is said of metrics that can't be told, and which of several counts: upstream's words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HorizontalPodAutoscaler, MetricSpec } from '../../api/generated/types/autoscaling-v2.ts';
import { computedFrom, isFailure, proposalOf, type Target, tolerancesOf } from './metric-proposals.ts';
import { goSelectorText } from './selector-text.ts';

const target: Target = {
  namespace: 'default',
  specReplicas: 2,
  statusReplicas: 2,
  workload: { pods: [], nowMs: 0, cpuInitializationMs: 0, initialReadinessMs: 0 },
  tolerances: { up: 0.1, down: 0.1 },
};
const value = { type: 'Value', value: '10' };
const average = { type: 'AverageValue', averageValue: '10' };
const service = { apiVersion: 'v1', kind: 'Service', name: 'front' };
const selector = { matchLabels: { a: 'b' } };
const shownSelector =
  '&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}';

const said = (spec: MetricSpec): readonly [string, string, string] => {
  const proposal = proposalOf(spec, 'away', target);
  assert.ok(isFailure(proposal));
  return [proposal.reason, proposal.message, proposal.text];
};

test('each kind of metric is missed in its own words', () => {
  assert.deepEqual(said({ type: 'Resource', resource: { name: 'cpu', target: average } }), [
    'FailedGetResourceMetric',
    'failed to get cpu usage: unable to get metrics for resource cpu: away',
    'failed to get cpu resource metric value: failed to get cpu usage: unable to get metrics for resource cpu: away',
  ]);
  const utilization = { type: 'Utilization', averageUtilization: 5 };
  assert.deepEqual(
    said({
      type: 'ContainerResource',
      containerResource: { name: 'memory', container: 'main', target: utilization },
    }),
    [
      'FailedGetContainerResourceMetric',
      'failed to get memory utilization: unable to get metrics for resource memory: away',
      'failed to get main container metric value: failed to get memory utilization: unable to get metrics for resource memory: away',
    ],
  );
  assert.deepEqual(said({ type: 'Pods', pods: { metric: { name: 'm' }, target: average } }), [
    'FailedGetPodsMetric',
    'unable to get metric m: away',
    'failed to get pods metric value: unable to get metric m: away',
  ]);
  const object = { describedObject: service, metric: { name: 'm' } };
  const ofObject = 'unable to get metric m: Service on default front/away';
  assert.deepEqual(said({ type: 'Object', object: { ...object, target: value } }), [
    'FailedGetObjectMetric',
    ofObject,
    `failed to get object metric value: ${ofObject}`,
  ]);
  assert.deepEqual(said({ type: 'Object', object: { ...object, target: average } }), [
    'FailedGetObjectMetric',
    ofObject,
    `failed to get object metric value: failed to get m object metric: ${ofObject}`,
  ]);
  const external = { metric: { name: 'q', selector } };
  const ofExternal = `unable to get external metric default/q/${shownSelector}: away`;
  assert.deepEqual(said({ type: 'External', external: { ...external, target: value } }), [
    'FailedGetExternalMetric',
    ofExternal,
    `failed to get q external metric value: failed to get external metric q: ${ofExternal}`,
  ]);
  assert.deepEqual(said({ type: 'External', external: { ...external, target: average } }), [
    'FailedGetExternalMetric',
    ofExternal,
    `failed to get q external metric value: failed to get q external metric: ${ofExternal}`,
  ]);
  assert.equal(said({ type: 'Odd' })[1], 'unknown metric source type "Odd"');
});

test('the highest proposal counts; with one unknown nothing is taken away', () => {
  const external = (usage: number) =>
    proposalOf(
      { type: 'External', external: { metric: { name: `q${usage}` }, target: average } },
      usage,
      target,
    );
  const lost = proposalOf({ type: 'Odd' }, '', target);
  const of = (...all: Parameters<typeof computedFrom>[0]) => computedFrom(all, 2);
  assert.deepEqual(of(external(30_000), external(70_000)).wanted, {
    replicas: 7,
    name: 'external metric q70000(nil)',
  });
  assert.equal(of(external(30_000), lost).wanted?.replicas, 3);
  assert.equal(of(external(10_000), lost).wanted, undefined);
  const { error, statuses, failures } = of(lost, external(10_000));
  assert.equal(
    error,
    'invalid metrics (1 invalid out of 2), first error is: unknown metric source type "Odd"',
  );
  assert.deepEqual([statuses[0], failures.length], [{ type: '' }, 1]);
  assert.equal(of(external(30_000)).error, undefined);
});

test('a behavior has tolerances of its own', () => {
  const behavior = { scaleUp: { tolerance: '50m' }, scaleDown: {} };
  const hpa = { spec: { behavior } } as unknown as HorizontalPodAutoscaler;
  assert.deepEqual(tolerancesOf(hpa, 0.1), { up: 0.05, down: 0.1 });
});

test('selectors as Go prints them', () => {
  assert.equal(goSelectorText(undefined), 'nil');
  assert.equal(goSelectorText(selector), shownSelector);
  assert.equal(
    goSelectorText({ matchExpressions: [{ key: 'a', operator: 'In', values: ['x', 'y'] }] }),
    '&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:a,Operator:In,Values:[x y],},},}',
  );
});
