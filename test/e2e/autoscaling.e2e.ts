// A horizontal autoscaler as people use it: real kubectl, real load on real containers, up and down again; and on paper.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import type { Kubectl } from '../harness/kubectl.ts';
import { busybox, startLinuxCluster } from '../harness/linux-cluster.ts';

const limit = { timeout: 300_000 };
const often = ['--extra-config', 'controller-manager.horizontal-pod-autoscaler-sync-period=2s'];

interface Scaled {
  readonly status: { readonly replicas?: number; readonly readyReplicas?: number };
}
interface AutoscalerView {
  readonly status: {
    readonly currentMetrics?: readonly {
      readonly resource?: { readonly current: { readonly averageUtilization?: number } };
    }[];
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
    }[];
  };
}

/** Works as hard as it may until there is a file. */
const workUntilTold = ['sh', '-c', 'trap "exit 0" TERM; while true; do [ -e /tmp/rest ] && sleep 1; done'];

const deployment = (template: object): string =>
  JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'worker' },
    spec: { replicas: 1, selector: { matchLabels: { app: 'worker' } }, template },
  });

const autoscaler = JSON.stringify({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'worker' },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'worker' },
    minReplicas: 1,
    maxReplicas: 2,
    metrics: [
      {
        type: 'Resource',
        resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
      },
    ],
    behavior: { scaleDown: { stabilizationWindowSeconds: 1 } },
  },
});

const runs = (kubectl: Kubectl, replicas: number): Promise<void> =>
  kubectl.until(
    ['deployment', 'worker'],
    (seen: Scaled) => {
      assert.deepEqual([seen.status.replicas, seen.status.readyReplicas], [replicas, replicas]);
    },
    { timeoutMs: 120_000 },
  );

async function tellsOfBoth(kubectl: Kubectl): Promise<void> {
  await eventually(async () => {
    const told = await kubectl.ok(['describe', 'hpa', 'worker']);
    assert.match(
      told,
      /SuccessfulRescale +\S+( \(.*\))? +horizontal-pod-autoscaler +New size: 2; reason: cpu resource utilization \(percentage of request\) above target/,
    );
    assert.match(told, /New size: 1; reason: All metrics below target/);
  });
}

describe('with containers', limit, () => {
  let cluster: TestCluster;
  let kubectl: Kubectl;
  before(async () => {
    cluster = await startLinuxCluster(often);
    kubectl = cluster.kubectl;
  }, limit);
  after(() => cluster?.down(), limit);

  test('a Deployment under load grows, and shrinks when the load is gone', limit, async () => {
    const main = {
      name: 'main',
      image: busybox,
      command: workUntilTold,
      resources: { requests: { cpu: '100m' }, limits: { cpu: '200m' } },
    };
    await kubectl.apply(
      deployment({
        metadata: { labels: { app: 'worker' } },
        spec: { terminationGracePeriodSeconds: 1, containers: [main] },
      }),
    );
    await runs(kubectl, 1);
    await kubectl.apply(autoscaler);
    await runs(kubectl, 2);
    assert.match(await kubectl.ok(['get', 'hpa', 'worker']), /Deployment\/worker +cpu: \d+%\/50% +1 +2 +2 /);
    const pods = (await kubectl.ok(['get', 'pods', '-l', 'app=worker', '-o', 'name'])).trim().split('\n');
    assert.equal(pods.length, 2);
    for (const pod of pods) await kubectl.ok(['exec', pod, '--', 'touch', '/tmp/rest']);
    await runs(kubectl, 1);
    await tellsOfBoth(kubectl);
  });
});

describe('on paper', limit, () => {
  let cluster: TestCluster;
  let kubectl: Kubectl;
  before(async () => {
    cluster = await startTestCluster({ name: 'paper', runtime: 'simulated', windows: 1, arguments: often });
    kubectl = cluster.kubectl;
  }, limit);
  after(() => cluster?.down(), limit);

  test('what an annotation says that pods use makes their Deployment grow and shrink', limit, async () => {
    const usage = 'porthole.dev/simulated-cpu-usage';
    const main = { name: 'main', image: 'example.com/x:1', resources: { requests: { cpu: '100m' } } };
    await kubectl.apply(
      deployment({
        metadata: { labels: { app: 'worker' }, annotations: { [usage]: '150m' } },
        spec: { nodeSelector: { 'kubernetes.io/os': 'windows' }, containers: [main] },
      }),
    );
    await kubectl.apply(autoscaler);
    await runs(kubectl, 2);
    assert.match(await kubectl.ok(['top', 'pods']), /^worker-\S+ +150m +16Mi/m);
    assert.match(await kubectl.ok(['top', 'nodes']), /^windows-1 +350m /m);
    await kubectl.ok(['annotate', 'pods', '-l', 'app=worker', '--overwrite', `${usage}=5m`]);
    await runs(kubectl, 1);
    await tellsOfBoth(kubectl);
    await kubectl.until(['hpa', 'worker'], ({ status }: AutoscalerView) => {
      assert.equal(status.currentMetrics?.[0]?.resource?.current.averageUtilization, 5);
      const able = status.conditions?.find(({ type }) => type === 'AbleToScale');
      assert.deepEqual([able?.status, able?.reason], ['True', 'ReadyForNewScale']);
    });
  });
});
