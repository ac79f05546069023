// What a control plane tells of itself at /metrics after real work, by upstream's names, in a form that Prometheus reads.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  deployments,
  jobs,
  nodes,
  pods,
  serviceaccounts,
  services,
} from '../../src/api/generated/resources.ts';
import type { Deployment } from '../../src/api/generated/types/apps-v1.ts';
import type { Job } from '../../src/api/generated/types/batch-v1.ts';
import type { Node, Service } from '../../src/api/generated/types/core-v1.ts';
import { eventually } from '../harness/eventually.ts';
import { type Family, readExposition, sampleOf } from '../harness/exposition.ts';
import { upstreamMetrics } from '../harness/upstream-metrics.ts';
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

test('all that is told is named and typed as upstream does it', async (t) => {
  const families = await told(await withDeployment(t, 1));
  assert.ok(families.size > 30, `${families.size} metrics`);
  for (const [name, { help, type }] of families) {
    assert.equal(type, upstreamMetrics[name]?.type, name);
    assert.notEqual(help, '', name);
  }
});

const jobOf = (name: string) => ({
  metadata: { name, namespace: 'default' },
  spec: {
    ttlSecondsAfterFinished: 0,
    template: {
      spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'example.com/x:1' }] },
    },
  },
});

test("controllers tell of jobs, slices, zones and namespaces by upstream's names", async (t) => {
  const cluster = await startCluster(t);
  const { client, until } = cluster;
  await client.create(jobs, jobOf('work') as unknown as Job);
  const pod = await until(pods, (lister) => lister.list('default')[0], 'a pod of the job');
  const done = { status: { phase: 'Succeeded' } };
  await client.patch(pods, pod.metadata, { type: 'merge', body: done }, { subresource: 'status' });
  await client.create(services, {
    metadata: { name: 'web', namespace: 'default' },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  } as unknown as Service);
  await client.create(nodes, { metadata: { name: 'a' }, spec: {} });
  const ready = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
  await client.patch(nodes, { name: 'a' }, { type: 'merge', body: ready }, { subresource: 'status' });
  await until(jobs, (lister) => lister.list('default').length === 0, 'the job is deleted');
  await eventually(async () => {
    const families = await told(cluster);
    const of = (name: string, labels: Record<string, string> = {}): number =>
      sampleOf(families, name, labels) ?? -1;
    const mode = { completion_mode: 'NonIndexed' };
    assert.equal(
      of('job_controller_jobs_finished_total', {
        ...mode,
        result: 'succeeded',
        reason: 'CompletionsReached',
      }),
      1,
    );
    assert.equal(of('job_controller_job_pods_finished_total', { ...mode, result: 'succeeded' }), 1);
    assert.equal(
      of('job_controller_job_syncs_total', { ...mode, action: 'pods_created', result: 'success' }),
      1,
    );
    assert.ok(of('job_controller_job_sync_duration_seconds_count', { ...mode, action: 'tracking' }) >= 1);
    assert.equal(of('ttl_after_finished_controller_job_deletion_duration_seconds_count'), 1);
    assert.ok(of('endpoint_slice_controller_changes', { operation: 'create' }) >= 1);
    assert.equal(of('endpoint_slice_controller_num_endpoint_slices'), 1);
    assert.equal(of('node_collector_zone_size', { zone: '' }), 1);
    assert.equal(of('node_collector_zone_health', { zone: '' }), 100);
    assert.equal(of('node_collector_unhealthy_nodes_in_zone', { zone: '' }), 0);
    assert.ok(of('node_collector_update_node_health_duration_seconds_count') >= 1);
    // default, kube-node-lease, kube-public, kube-system
    assert.ok(of('root_ca_cert_publisher_sync_total', { code: '200' }) >= 4);
    for (const [name, { type }] of families) assert.equal(type, upstreamMetrics[name]?.type, name);
  });
});

test('an eviction is timed from the taint until the pod is deleted', async (t) => {
  const cluster = await startCluster(t, { disabled: ['node-lifecycle-controller'] });

  await cluster.until(serviceaccounts, (lister) => lister.get('default', 'default'), 'what pods run as');
  const taints = [{ key: 'k', effect: 'NoExecute' }];
  await cluster.client.create(nodes, { metadata: { name: 'tainted' }, spec: { taints } } as unknown as Node);
  const spec = { nodeName: 'tainted', containers: [{ name: 'main', image: 'example.com/x:1' }] };
  await cluster.client.create(pods, { metadata: { name: 'p', namespace: 'default' }, spec });
  await eventually(async () => {
    const families = await told(cluster);
    const of = (name: string): number => sampleOf(families, `taint_eviction_controller_${name}`, {}) ?? -1;
    assert.equal(of('pod_deletions_total'), 1);
    assert.equal(of('pod_deletion_duration_seconds_count'), 1);
    assert.ok(of('pod_deletion_duration_seconds_sum') > 0, 'two writes take their time');
  });
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
    [/told twice/, '# TYPE a gauge\na{x="1",y="2"} 1\na{y="2",x="1"} 1\n'],
    [/told twice/, '# TYPE a gauge\na{x=""} 1\na 1\n'],
    [/told twice/, '# TYPE a gauge\na{x="1"} 1 1790000000000\na{x="1"} 1 1790000000001\n'],
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
