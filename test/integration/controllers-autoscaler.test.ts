// The horizontal autoscaler against a control plane in process: what pods use is what simulated nodes say, other metrics come from a made-up server.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  horizontalpodautoscalersV2 as autoscalers,
  deployments,
  events,
  nodes,
  pods,
} from '../../src/api/generated/resources.ts';
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
} from '../../src/api/generated/types/autoscaling-v2.ts';
import { findCondition } from '../../src/apimachinery/conditions.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { openPki } from '../../src/controlplane/pki.ts';
import { eventually } from '../harness/eventually.ts';
import { startExtensionServer } from '../harness/extension-server.ts';
import { type ControllersCluster, startCluster } from './controllers-cluster.ts';

const cluster = async (
  t: TestContext,
  server?: NonNullable<Parameters<typeof startCluster>[1]>['server'],
): Promise<ControllersCluster> => {
  const autoscaling = { syncMs: 200, downscaleStabilizationMs: 1 };
  const found = await startCluster(t, { autoscaling, ...(server === undefined ? {} : { server }) });
  await found.client.create(nodes, {
    metadata: { name: 'paper', labels: { 'porthole.dev/simulated': 'true' } },
  } as never);
  return found;
};

/** A target whose pods request a tenth of a processor and use `usage`. */
async function makeTarget({ client }: ControllersCluster, replicas: number, usage: string): Promise<void> {
  const labels = { app: 'web' };
  await client.create(deployments, {
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { 'porthole.dev/simulated-cpu-usage': usage } },
        spec: {
          nodeName: 'paper',
          containers: [
            { name: 'main', image: 'x', resources: { requests: { cpu: '100m', memory: '64Mi' } } },
          ],
        },
      },
    },
  } as never);
}

/** Plays the kubelet: all pods have run for long. */
function keepRunning(t: TestContext, { client }: ControllersCluster): void {
  const longAgo = '2026-01-01T00:00:00Z';
  const ended = new AbortController();
  t.after(() => ended.abort());
  const play = async (): Promise<void> => {
    for await (const event of client.watch(pods, { signal: ended.signal })) {
      if (event.type !== 'ADDED') continue;
      const { name, namespace } = event.object.metadata;
      const ready = { type: 'Ready', status: 'True', lastTransitionTime: longAgo };
      const status = { phase: 'Running', startTime: longAgo, conditions: [ready] };
      const body = { status };
      await client.patch(pods, { name, namespace }, { type: 'merge', body }, { subresource: 'status' });
    }
  };
  play().catch(() => undefined);
}

const makeAutoscaler = (
  { client }: ControllersCluster,
  spec: Partial<HorizontalPodAutoscalerSpec>,
  name = 'web',
): Promise<HorizontalPodAutoscaler> =>
  client.create(autoscalers, {
    metadata: { name, namespace: 'default' },
    spec: {
      maxReplicas: 5,
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
        },
      ],
      ...spec,
    },
  });

const scaled = ({ until }: ControllersCluster, replicas: number) =>
  until(
    deployments,
    (lister) => lister.get('web', 'default')?.spec.replicas === replicas,
    `${replicas} replicas`,
  );

const says = (found: ControllersCluster, type: string, reason: string, name = 'web') =>
  found.until(
    autoscalers,
    (lister) => {
      const condition = findCondition(lister.get(name, 'default')?.status?.conditions, type);
      return condition?.reason === reason && condition;
    },
    `${type}: ${reason}`,
  );

const told = (found: ControllersCluster, reason: string): Promise<string> =>
  found.until(
    events,
    (lister) => lister.list('default').find((event) => event.reason === reason)?.message ?? false,
    reason,
  );

test('a target whose pods use too much grows to what they need, and shrinks when they use less', async (t) => {
  const found = await cluster(t);
  keepRunning(t, found);
  await makeTarget(found, 1, '150m');
  await makeAutoscaler(found, { maxReplicas: 3 });
  await scaled(found, 3);
  assert.equal(
    await told(found, 'SuccessfulRescale'),
    'New size: 3; reason: cpu resource utilization (percentage of request) above target',
  );
  const limited = await says(found, 'ScalingLimited', 'TooManyReplicas');
  assert.deepEqual(
    [limited.status, limited.message],
    ['True', 'the desired replica count is more than the maximum replica count'],
  );
  const { status } = await found.client.get(autoscalers, { name: 'web', namespace: 'default' });
  assert.deepEqual(status?.currentMetrics, [
    {
      type: 'Resource',
      resource: { name: 'cpu', current: { averageUtilization: 150, averageValue: '150m' } },
    },
  ]);
  assert.notEqual(status?.lastScaleTime, undefined);
  for (const { metadata } of (await found.client.list(pods, { namespace: 'default' })).items)
    await found.client.patch(
      pods,
      { name: metadata.name, namespace: 'default' },
      {
        type: 'merge',
        body: { metadata: { annotations: { 'porthole.dev/simulated-cpu-usage': '10m' } } },
      },
    );
  await scaled(found, 1);
  await says(found, 'AbleToScale', 'ReadyForNewScale');
});

test('a behavior says how fast, and a tolerance of its own from when on', async (t) => {
  const found = await cluster(t);
  keepRunning(t, found);
  await makeTarget(found, 2, '53m');
  const policies = [{ type: 'Pods', value: 1, periodSeconds: 600 }];
  const scaleUp = { policies, tolerance: '0.01', stabilizationWindowSeconds: 0, selectPolicy: 'Max' };
  await makeAutoscaler(found, { behavior: { scaleUp } });
  await scaled(found, 3);
  const { message } = await says(found, 'ScalingLimited', 'ScaleUpLimit');
  assert.equal(message, 'the desired replica count is increasing faster than the maximum scale rate');
});

test('a number out of bounds is set right before anything is measured, and none is left alone', async (t) => {
  const found = await cluster(t);
  await makeTarget(found, 7, '10m');
  await makeAutoscaler(found, { maxReplicas: 5 });
  await scaled(found, 5);
  const above = 'New size: 5; reason: Current number of replicas above Spec.MaxReplicas';
  assert.equal(await told(found, 'SuccessfulRescale'), above);
  const scale = { type: 'merge', body: { spec: { replicas: 0 } } } as const;
  await found.client.patch(deployments, { name: 'web', namespace: 'default' }, scale);
  const { status, message } = await says(found, 'ScalingActive', 'ScalingDisabled');
  assert.deepEqual(
    [status, message],
    ['False', 'scaling is disabled since the replica count of the target is zero'],
  );
});

test('what can not be measured is told as upstream tells it, and nothing is scaled', async (t) => {
  const found = await cluster(t);
  await makeTarget(found, 2, '10m');
  await makeAutoscaler(found, {});
  const why =
    'failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API';
  assert.equal(await told(found, 'FailedGetResourceMetric'), why);
  assert.equal(
    await told(found, 'FailedComputeMetricsReplicas'),
    `invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: ${why}`,
  );
  const { status, message } = await says(found, 'ScalingActive', 'FailedGetResourceMetric');
  assert.deepEqual([status, message], ['False', `the HPA was unable to compute the replica count: ${why}`]);
  const { spec } = await found.client.get(deployments, { name: 'web', namespace: 'default' });
  assert.equal(spec.replicas, 2);
});

test('a target that is not there, and a kind that nobody knows', async (t) => {
  const found = await cluster(t);
  await makeAutoscaler(found, {});
  const missing = await says(found, 'AbleToScale', 'FailedGetScale');
  assert.equal(
    missing.message,
    `the HPA controller was unable to get the target's current scale: deployments.apps "web" not found`,
  );
  const scaleTargetRef = { apiVersion: 'example.com/v1', kind: 'Thing', name: 'web' };
  await makeAutoscaler(found, { scaleTargetRef }, 'thing');
  const unknown = await says(found, 'AbleToScale', 'FailedGetScale', 'thing');
  assert.match(unknown.message ?? '', /no matches for kind "Thing" in group "example\.com"$/);
});

test('two autoscalers of the same pods scale nothing', async (t) => {
  const found = await cluster(t);
  keepRunning(t, found);
  await makeTarget(found, 2, '200m');
  const metrics = [
    { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 200 } } },
  ];
  await makeAutoscaler(found, { metrics });
  await says(found, 'ScalingActive', 'ValidMetricFound');
  await makeAutoscaler(found, { metrics }, 'other');
  const { message } = await says(found, 'ScalingActive', 'AmbiguousSelector');
  assert.equal(
    message,
    'pods by selector app=web are controlled by multiple HPAs: [{other default} {web default}]',
  );
});

test('a custom resource that has a scale is scaled', async (t) => {
  const found = await cluster(t);
  const { ask } = found.server;
  const made = await ask('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      names: { plural: 'things', kind: 'Thing' },
      scope: 'Namespaced',
      versions: [
        {
          ...{ name: 'v1', served: true, storage: true },
          schema: {
            openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          },
          subresources: {
            status: {},
            scale: {
              specReplicasPath: '.spec.replicas',
              statusReplicasPath: '.status.replicas',
              labelSelectorPath: '.status.selector',
            },
          },
        },
      ],
    },
  });
  assert.equal(made.status, 201, made.text);
  const scaleTargetRef = { apiVersion: 'example.com/v1', kind: 'Thing', name: 'web' };
  await makeAutoscaler(found, { scaleTargetRef, minReplicas: 3 });
  const things = '/apis/example.com/v1/namespaces/default/things';
  await eventually(async () => {
    const thing = await ask('POST', things, { metadata: { name: 'web' }, spec: { replicas: 1 } });
    assert.equal(thing.status, 201, thing.text);
  });
  await eventually(async () => {
    const { body } = await ask('GET', `${things}/web`);
    assert.equal((body['spec'] as { replicas: number }).replicas, 3);
  });
  const { message } = await says(found, 'ScalingActive', 'InvalidSelector');
  assert.equal(message, "the HPA target's scale is missing a selector");
});

/** Custom and external metrics of another server: all that it is asked for, by path. */
async function measuringServer(t: TestContext) {
  const files = new Map<string, string>();
  const pki = await openPki(
    { read: (name) => files.get(name), write: (name, text) => void files.set(name, text) },
    systemClock,
  );
  const frontProxy = await pki.frontProxyClient();
  const extension = await startExtensionServer({ frontProxyCa: pki.authorities.frontProxyCa() });
  t.after(() => extension.close());
  const found = await cluster(t, { pki, frontProxyClient: () => frontProxy });
  const { ask } = found.server;
  await ask('POST', '/api/v1/namespaces', { metadata: { name: 'wardle' } });
  await ask('POST', '/api/v1/namespaces/wardle/services', {
    metadata: { name: 'api' },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  });
  const answer = (path: string, body: object): void => {
    extension.answers.set(path, (_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(body));
    });
  };
  for (const [group, version] of [
    ['custom.metrics.k8s.io', 'v1beta2'],
    ['external.metrics.k8s.io', 'v1beta1'],
  ] as const) {
    const groupVersion = `${group}/${version}`;
    answer(`/apis/${groupVersion}`, {
      ...{ kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources: [] },
    });
    const made = await ask('POST', '/apis/apiregistration.k8s.io/v1/apiservices', {
      metadata: { name: `${version}.${group}` },
      spec: {
        ...{ group, version, groupPriorityMinimum: 100, versionPriority: 100 },
        caBundle: extension.caBundle,
        service: { namespace: 'wardle', name: 'api', port: extension.port },
      },
    });
    assert.equal(made.status, 201, made.text);
  }
  return { found, answer, asked: extension.asked };
}

const custom = '/apis/custom.metrics.k8s.io/v1beta2/namespaces/default';
const timestamp = '2026-01-01T00:00:00Z';

test('metrics of pods, of objects and of the outside come from whoever serves them; the highest wins', async (t) => {
  const { found, answer, asked } = await measuringServer(t);
  keepRunning(t, found);
  await makeTarget(found, 1, '1m');
  const values = (...items: object[]): object => ({ kind: 'MetricValueList', apiVersion: 'x', items });
  const podsValue = { describedObject: { kind: 'Pod', name: 'x' }, timestamp, value: '10' };
  answer(`${custom}/pods/*/requests`, values(podsValue));
  const value = { describedObject: { kind: 'Service', name: 'front' }, timestamp, value: '2500m' };
  answer(`${custom}/services/front/hits`, values(value));
  answer('/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue', {
    ...{ kind: 'ExternalMetricValueList', apiVersion: 'external.metrics.k8s.io/v1beta1', metadata: {} },
    items: ['25', '5'].map((one) => ({ metricName: 'queue', metricLabels: {}, timestamp, value: one })),
  });
  const selector = { matchLabels: { name: 'work' } };
  await makeAutoscaler(found, {
    metrics: [
      {
        type: 'Object',
        object: {
          describedObject: { apiVersion: 'v1', kind: 'Service', name: 'front' },
          metric: { name: 'hits' },
          target: { type: 'Value', value: '1' },
        },
      },
      {
        type: 'External',
        external: {
          metric: { name: 'queue', selector },
          target: { type: 'AverageValue', averageValue: '10' },
        },
      },
    ],
  });
  await scaled(found, 3);
  assert.match(
    await told(found, 'SuccessfulRescale'),
    /^New size: 3; reason: (Service metric hits|external metric queue\(&LabelSelector\{MatchLabels:map\[string\]string\{name: work,\},MatchExpressions:\[\]LabelSelectorRequirement\{\},\}\)) above target$/,
  );
  const seen = await found.until(
    autoscalers,
    (lister) => {
      const metrics = lister.get('web', 'default')?.status?.currentMetrics;
      return metrics?.[1]?.external?.current.averageValue === '10' && metrics;
    },
    'what three replicas share',
  );
  assert.deepEqual(seen[0]?.object?.current, { value: '2500m' });
  assert.ok(asked.some(({ url }) => url.includes('/queue?labelSelector=name%3Dwork')));
  assert.ok(asked.every(({ proxy }) => proxy !== ''));
});

test('where nobody serves custom metrics that is said, and what is measured else is still done', async (t) => {
  const found = await cluster(t);
  keepRunning(t, found);
  await makeTarget(found, 1, '150m');
  const target = { type: 'AverageValue', averageValue: '10' };
  await makeAutoscaler(found, {
    metrics: [
      { type: 'Pods', pods: { metric: { name: 'requests' }, target } },
      {
        type: 'ContainerResource',
        containerResource: {
          ...{ name: 'cpu', container: 'main' },
          target: { type: 'Utilization', averageUtilization: 50 },
        },
      },
    ],
  });
  await scaled(found, 3);
  assert.equal(
    await told(found, 'FailedGetPodsMetric'),
    'unable to get metric requests: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered',
  );
});
