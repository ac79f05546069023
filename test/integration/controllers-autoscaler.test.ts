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
import { type ControllersCluster, startCluster } from './controllers-cluster.ts';

const cluster = async (t: TestContext): Promise<ControllersCluster> => {
  const found = await startCluster(t, { autoscaling: { syncMs: 200, downscaleStabilizationMs: 1 } });
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
function keepRunning({ client, until }: ControllersCluster): void {
  const longAgo = '2026-01-01T00:00:00Z';
  const started = new Set<string>();
  void until(
    pods,
    (lister) => {
      for (const pod of lister.list()) {
        const { uid = '', name } = pod.metadata;
        if (started.has(uid)) continue;
        started.add(uid);
        const ready = { type: 'Ready', status: 'True', lastTransitionTime: longAgo };
        const status = { phase: 'Running', startTime: longAgo, conditions: [ready] };
        void client
          .patch(
            pods,
            { name, namespace: 'default' },
            { type: 'merge', body: { status } },
            { subresource: 'status' },
          )
          .catch(() => undefined);
      }
      return false;
    },
    'the end',
  ).catch(() => undefined);
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
  keepRunning(found);
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
