// What a control plane tells of itself at /metrics after real work, by upstream's names, in a form that Prometheus reads.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { deployments, pods } from '../../src/api/generated/resources.ts';
import type { Deployment } from '../../src/api/generated/types/apps-v1.ts';
import { eventually } from '../harness/eventually.ts';
import { type Family, readExposition, sampleOf } from '../harness/exposition.ts';
import { type ControllersCluster, startCluster } from './controllers-cluster.ts';

const told = async ({ server }: ControllersCluster): Promise<ReadonlyMap<string, Family>> =>
  readExposition((await server.ask('GET', '/metrics')).text);

async function withDeployment(t: TestContext, replicas: number): Promise<ControllersCluster> {
  const cluster = await startCluster(t);
  const labels = { app: 'web' };
  await cluster.client.create(deployments, {
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'main', image: 'example.com/x:1' }] },
      },
    },
  } as unknown as Deployment);
  await cluster.until(pods, (lister) => lister.list('default').length === replicas, 'all pods');
  return cluster;
}

test('work queues, clients, informers and stored objects are told after a Deployment was rolled out', async (t) => {
  const cluster = await withDeployment(t, 3);
  await eventually(async () => {
    const families = await told(cluster);
    const of = (name: string, labels: Record<string, string> = {}): number =>
      sampleOf(families, name, labels) ?? -1;
    for (const name of ['deployment', 'replicaset']) {
      // Whatever was added was worked on, or waits.
      assert.ok(of('workqueue_adds_total', { name }) >= 1, name);
      assert.equal(of('workqueue_depth', { name }), 0);
      assert.equal(of('workqueue_unfinished_work_seconds', { name }), 0);
      for (const part of ['queue', 'work'])
        assert.equal(
          of(`workqueue_${part}_duration_seconds_count`, { name }),
          of('workqueue_adds_total', { name }),
        );
    }
    assert.equal(of('apiserver_resource_objects', { group: '', resource: 'pods' }), 3);
    assert.equal(of('apiserver_resource_objects', { group: 'apps', resource: 'replicasets' }), 1);
    assert.equal(of('apiserver_storage_objects', { resource: 'deployments.apps' }), 1);
    const host = '192.0.2.1:6443';
    assert.ok(of('rest_client_requests_total', { code: '201', method: 'POST', host }) >= 5);
    assert.ok(of('rest_client_request_duration_seconds_count', { verb: 'POST', host }) >= 5);
    const informer = { group: '', version: 'v1', resource: 'pods' };
    assert.ok(of('informer_processing_latency_seconds_count', informer) >= 4, 'a list and three pods');
  });
});

/** Types of upstream's metrics that are told here. What upstream has and this server has no data of is left out. */
const upstream: Readonly<Record<string, string>> = {
  apiserver_current_inflight_requests: 'gauge',
  apiserver_flowcontrol_current_executing_requests: 'gauge',
  apiserver_flowcontrol_current_executing_seats: 'gauge',
  apiserver_flowcontrol_current_inqueue_requests: 'gauge',
  apiserver_flowcontrol_dispatched_requests_total: 'counter',
  apiserver_flowcontrol_lower_limit_seats: 'gauge',
  apiserver_flowcontrol_nominal_limit_seats: 'gauge',
  apiserver_flowcontrol_rejected_requests_total: 'counter',
  apiserver_flowcontrol_request_wait_duration_seconds: 'histogram',
  apiserver_flowcontrol_upper_limit_seats: 'gauge',
  apiserver_request_duration_seconds: 'histogram',
  apiserver_request_total: 'counter',
  apiserver_resource_objects: 'gauge',
  apiserver_storage_objects: 'gauge',
  informer_processing_latency_seconds: 'histogram',
  rest_client_request_duration_seconds: 'histogram',
  rest_client_request_size_bytes: 'histogram',
  rest_client_requests_total: 'counter',
  rest_client_response_size_bytes: 'histogram',
  workqueue_adds_total: 'counter',
  workqueue_depth: 'gauge',
  workqueue_longest_running_processor_seconds: 'gauge',
  workqueue_queue_duration_seconds: 'histogram',
  workqueue_retries_total: 'counter',
  workqueue_unfinished_work_seconds: 'gauge',
  workqueue_work_duration_seconds: 'histogram',
};

test('all that is told is named and typed as upstream does it', async (t) => {
  const families = await told(await withDeployment(t, 1));
  const types = Object.fromEntries([...families].map(([name, { type }]) => [name, type]));
  assert.deepEqual(types, upstream);
  for (const [name, { help }] of families) assert.notEqual(help, '', name);
});

test('what a scraper would refuse or count wrongly is found', () => {
  const histogram = (lines: string): string => `# HELP h x\n# TYPE h histogram\n${lines}`;
  for (const [why, text] of [
    [/without a type/, 'a 1\n'],
    [/no sample/, '# TYPE a-b gauge\na-b 1\n'.replace('# TYPE a-b gauge\n', '')],
    [/no header/, '# TYPE a-b gauge\n'],
    [/two types/, '# TYPE a gauge\n# TYPE a gauge\n'],
    [/no labels/, '# TYPE a gauge\na{x="\\q"} 1\n'],
    [/x twice/, '# TYPE a gauge\na{x="1",x="2"} 1\n'],
    [/told twice/, '# TYPE a gauge\na 1\na 2\n'],
    [/below 0/, '# TYPE a counter\na -1\n'],
    [/no value/, '# TYPE a gauge\na x\n'],
    [/an end/, '# TYPE a gauge\na 1'],
    [/last bucket/, histogram('h_bucket{le="1"} 1\nh_sum 1\nh_count 1\n')],
    [/last bucket/, histogram('h_bucket{le="+Inf"} 1\nh_sum 1\nh_count 2\n')],
    [/buckets count/, histogram('h_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n')],
    [
      /bounds go up/,
      histogram('h_bucket{le="2"} 0\nh_bucket{le="1"} 0\nh_bucket{le="+Inf"} 0\nh_sum 1\nh_count 0\n'),
    ],
    [/no sum/, histogram('h_bucket{le="+Inf"} 1\nh_count 1\n')],
  ] as const)
    assert.throws(() => readExposition(text), why);
});
