// metrics.k8s.io of a control plane in process, whose kubelets are made up: metrics-server's answers, rights, and how another server takes over.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { tryParseQuantity } from '../../src/apimachinery/quantity.ts';
import {
  type Answer,
  startTestControlPlane,
  type TestControlPlane,
  user,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';

const root = '/apis/metrics.k8s.io/v1beta1';
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const apiService = '/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io';

/** A kubelet of `real` whose pod `default/web` uses a fifth of a processor; it tells of a pod of another node, too. */
function kubeletText(): string {
  const seconds = performance.now() / 1000;
  const rows = (pod: string, cores: number): string => {
    const labels = `{container="main",namespace="default",pod="${pod}"}`;
    return `container_cpu_usage_seconds_total${labels} ${seconds * cores} ${Date.now()}
container_memory_working_set_bytes${labels} ${6 << 20} ${Date.now()}
container_start_time_seconds${labels} 1 ${Date.now()}\n`;
  };
  return `node_cpu_usage_seconds_total ${seconds / 2} ${Date.now()}
node_memory_working_set_bytes 1000 ${Date.now()}\n${rows('web', 0.2)}${rows('paper', 9)}`;
}

async function startPlane(t: TestContext): Promise<TestControlPlane> {
  const plane = await startTestControlPlane({
    kubelets: { read: async () => kubeletText(), close: () => undefined },
  });
  t.after(() => plane.close());
  return plane;
}

async function makePods({ ask }: TestControlPlane): Promise<void> {
  const simulated = { 'porthole.dev/simulated': 'true' };
  for (const [name, labels] of [['real', { zone: 'a' }] as const, ['simulated', simulated] as const])
    await ask('POST', '/api/v1/nodes', { metadata: { name, labels } });
  await ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  for (const [name, nodeName] of [['web', 'real'] as const, ['paper', 'simulated'] as const]) {
    const made = await ask('POST', '/api/v1/namespaces/default/pods', {
      metadata: {
        name,
        labels: { app: name },
        annotations: { 'porthole.dev/simulated-cpu-usage': '250m' },
      },
      spec: { nodeName, containers: [{ name: 'main', image: 'x' }] },
    });
    assert.equal(made.status, 201, made.text);
    const now = new Date(Date.now() - 60_000).toISOString();
    await ask('PATCH', `/api/v1/namespaces/default/pods/${name}/status`, {
      status: {
        phase: 'Running',
        conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: now }],
      },
    });
  }
}

const cores = (text = ''): number => Number(tryParseQuantity(text)?.nano ?? 0n) / 1e9;

const namesOf = ({ body }: Answer): string[] =>
  (body['items'] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);

test('nodes and pods are told as metrics-server tells them', async (t) => {
  const plane = await startPlane(t);
  await makePods(plane);
  const { ask } = plane;
  const web = await ask('GET', `${root}/namespaces/default/pods/web`);
  const { metadata, timestamp, window, containers, ...rest } = web.body;
  assert.deepEqual(rest, { kind: 'PodMetrics', apiVersion: 'metrics.k8s.io/v1beta1' });
  assert.match(String(timestamp), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  assert.match(String(window), /^\d(\.\d+)?s$/);
  assert.deepEqual((metadata as { labels: object }).labels, { app: 'web' });
  const [main] = containers as { name: string; usage: { cpu: string; memory: string } }[];
  assert.deepEqual([main?.name, main?.usage.memory], ['main', '6Mi']);
  assert.ok(Math.abs(cores(main?.usage.cpu) - 0.2) < 0.1, JSON.stringify(main));

  const nodes = await ask('GET', `${root}/nodes`);
  assert.deepEqual([nodes.body['kind'], namesOf(nodes)], ['NodeMetricsList', ['real', 'simulated']]);
  const shown = await ask('GET', `${root}/nodes?labelSelector=zone=a`, undefined, { accept: table });
  const columns = shown.body['columnDefinitions'] as { name: string }[];
  assert.deepEqual(
    columns.map((column) => column.name),
    ['Name', 'cpu', 'memory', 'Window'],
  );
  const rows = shown.body['rows'] as { cells: string[] }[];
  assert.deepEqual(
    rows.map(({ cells }) => [cells[0], cells[2]]),
    [['real', '1k']],
  );

  assert.deepEqual(namesOf(await ask('GET', `${root}/pods`)), ['paper', 'web']);
  assert.deepEqual(namesOf(await ask('GET', `${root}/pods?labelSelector=app=web`)), ['web']);
  assert.deepEqual(namesOf(await ask('GET', `${root}/pods?fieldSelector=metadata.name=paper`)), ['paper']);
  const refused = await ask('GET', `${root}/pods?fieldSelector=spec.nodeName=real`);
  assert.equal(refused.status, 400, refused.text);
});

test('what a kubelet says of pods of other nodes is not believed, and a simulated pod uses what its annotation says', async (t) => {
  const plane = await startPlane(t);
  await makePods(plane);
  const read = async (): Promise<unknown> => {
    const { body } = await plane.ask('GET', `${root}/namespaces/default/pods/paper`);
    return (body['containers'] as { usage: unknown }[])[0]?.usage;
  };
  assert.deepEqual(await read(), { cpu: '250m', memory: '16Mi' });
  await plane.ask('PATCH', '/api/v1/namespaces/default/pods/paper', {
    metadata: { annotations: { 'porthole.dev/simulated-cpu-usage': '2' } },
  });
  assert.deepEqual(await read(), { cpu: '2', memory: '16Mi' });
});

test('what is not there, what was not measured, and watches are refused in upstream words', async (t) => {
  const plane = await startPlane(t);
  const { ask } = plane;
  await makePods(plane);
  await ask('POST', '/api/v1/namespaces/default/pods', {
    metadata: { name: 'waiting' },
    spec: { containers: [{ name: 'main', image: 'x' }] },
  });
  const words = async (path: string): Promise<unknown> => {
    const { status, message } = await ask('GET', root + path);
    return [status, message];
  };
  assert.deepEqual(await words('/nodes/none'), [404, 'nodes "none" not found']);
  assert.deepEqual(await words('/namespaces/default/pods/none'), [404, 'pods "none" not found']);
  assert.deepEqual(await words('/namespaces/default/pods/waiting'), [
    404,
    'podmetrics.metrics.k8s.io "default/waiting" not found',
  ]);
  assert.deepEqual(await words('/pods?watch=true'), [
    405,
    'watch is not supported on resources of kind "pods.metrics.k8s.io"',
  ]);
  const made = await ask('POST', `${root}/nodes`, { metadata: { name: 'x' } });
  assert.equal(made.status, 405, made.text);
});

test('who may view a namespace sees what its pods use, and nobody else', async (t) => {
  const plane = await startPlane(t);
  const { ask } = plane;
  await makePods(plane);
  const reader = user('reader');
  const path = `${root}/namespaces/default/pods`;
  assert.equal((await ask('GET', path, undefined, { user: reader })).status, 403);
  const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
  await ask('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
    metadata: { name: 'reader' },
    subjects: [{ kind: 'User', apiGroup: role.apiGroup, name: 'reader' }],
    roleRef: role,
  });
  assert.deepEqual(namesOf(await ask('GET', path, undefined, { user: reader })), ['paper', 'web']);
  assert.equal((await ask('GET', `${root}/nodes`, undefined, { user: reader })).status, 403);
});

test('it is found by discovery, described, and its APIService is Available', async (t) => {
  const { ask } = await startPlane(t);
  const groups = (await ask('GET', '/apis')).body['groups'] as { name: string }[];
  assert.equal(groups.at(-1)?.name, 'metrics.k8s.io');
  const openApi = await ask('GET', '/openapi/v3/apis/metrics.k8s.io/v1beta1');
  assert.ok(openApi.text.includes('io.k8s.metrics.pkg.apis.metrics.v1beta1.PodMetrics'));
  const { body } = await ask('GET', apiService);
  const [condition] = (body['status'] as { conditions: Record<string, string>[] }).conditions;
  assert.deepEqual(
    [condition?.['type'], condition?.['status'], condition?.['reason']],
    ['Available', 'True', 'Local'],
  );
});

test("another server's APIService takes its place, created or applied, and gives it back when it is deleted", async (t) => {
  const { ask } = await startPlane(t);
  const service = { name: 'metrics-server', namespace: 'kube-system' };
  const theirs = {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: 'v1beta1.metrics.k8s.io' },
    spec: {
      ...{ group: 'metrics.k8s.io', version: 'v1beta1', groupPriorityMinimum: 100, versionPriority: 100 },
      ...{ service, insecureSkipTLSVerify: true },
    },
  };
  const serves = (own: boolean): Promise<void> =>
    eventually(async () => assert.equal((await ask('GET', `${root}/nodes`)).status, own ? 200 : 503));
  await serves(true);
  const made = await ask('POST', '/apis/apiregistration.k8s.io/v1/apiservices', theirs);
  assert.equal(made.status, 201, made.text);
  await serves(false);
  const again = await ask('POST', '/apis/apiregistration.k8s.io/v1/apiservices', theirs);
  assert.equal(again.status, 409);
  await ask('DELETE', apiService);
  await serves(true);
  await eventually(async () => assert.equal((await ask('GET', apiService)).status, 200));
  const applied = await ask('PATCH', `${apiService}?fieldManager=x&force=true`, theirs, {
    contentType: 'application/apply-patch+yaml',
  });
  assert.equal(applied.status, 200, applied.text);
  await serves(false);
  const { body } = await ask('GET', apiService);
  assert.deepEqual((body['spec'] as { service: object }).service, { ...service, port: 443 });
});
