// Many nodes fall silent at once: whose network failed, theirs or ours, decides whether their pods are evicted.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { leases, nodes } from '../../src/api/generated/resources.ts';
import type { Node } from '../../src/api/generated/types/core-v1.ts';
import { readExposition, sampleOf } from '../harness/exposition.ts';
import { type ControllersCluster, startCluster } from './controllers-cluster.ts';

const leaseNamespace = 'kube-node-lease';
const names = ['n1', 'n2', 'n3', 'n4'];

interface Kubelets {
  /** Those who go on renewing their leases; who is missing is silent. */
  readonly alive: Set<string>;
  /** How often all the living renewed theirs. */
  beats(): number;
  /** As a kubelet that has come through again. */
  revive(name: string): Promise<void>;
}

async function startKubelets(t: TestContext, { client }: ControllersCluster): Promise<Kubelets> {
  const alive = new Set(names);
  let count = 0;
  const ready = (name: string): Promise<unknown> => {
    const heartbeat = new Date().toISOString();
    const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: `${heartbeat.slice(0, 19)}Z` }];
    const body = { status: { conditions } };
    return client.patch(nodes, { name }, { type: 'strategic', body }, { subresource: 'status' });
  };
  for (const name of names) {
    await client.create(nodes, { metadata: { name }, spec: {} });
    await ready(name);
    const spec = { holderIdentity: name };
    await client.create(leases, { metadata: { name, namespace: leaseNamespace }, spec });
  }
  const beat = async (): Promise<void> => {
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    for (const name of alive) {
      const patch = { type: 'merge', body: { spec: { renewTime } } } as const;
      await client.patch(leases, { name, namespace: leaseNamespace }, patch);
    }
    count += 1;
  };
  const timer = setInterval(() => void beat().catch(() => {}), 200);
  t.after(() => clearInterval(timer));
  return {
    alive,
    beats: () => count,
    async revive(name) {
      alive.add(name);
      await ready(name);
    },
  };
}

const taintsOf = (node: Node | undefined): string[] =>
  (node?.spec?.taints ?? []).map(({ key, effect }) => `${key.split('/')[1]}:${effect}`).sort();
const isEvicting = (node: Node): boolean => taintsOf(node).includes('unreachable:NoExecute');
const both = ['unreachable:NoExecute', 'unreachable:NoSchedule'];

test('most nodes fall silent: none is evicted from; then two, one after the other; then all, and none again', async (t) => {
  const cluster = await startCluster(t, {
    nodeMonitorGracePeriodMs: 2000,
    nodeEvictions: { monitorPeriodMs: 1000, perSecond: 1 },
  });
  const { client, until } = cluster;
  const kubelets = await startKubelets(t, cluster);
  const { alive } = kubelets;
  const begun = new Map<string, number>();
  const ending = new AbortController();
  t.after(() => ending.abort());
  void (async () => {
    for await (const event of client.watch(nodes, { timeoutSeconds: 600, signal: ending.signal }))
      if (event.type === 'MODIFIED' && isEvicting(event.object as Node)) {
        const { name } = (event.object as Node).metadata;
        if (!begun.has(name)) begun.set(name, performance.now());
      }
  })().catch(() => {});

  for (const name of ['n2', 'n3', 'n4']) alive.delete(name);
  const silent = (l: { get(name: string): Node | undefined }, ...which: string[]): boolean =>
    which.every((name) => taintsOf(l.get(name)).includes('unreachable:NoSchedule'));
  await until(nodes, (l) => silent(l, 'n2', 'n3', 'n4'), 'three silent nodes');
  const beats = kubelets.beats();
  await until(leases, () => kubelets.beats() >= beats + 15, 'three more seconds of the one that is left');
  assert.deepEqual([...begun.keys()], []);

  await kubelets.revive('n2');
  await until(
    nodes,
    (l) => ['n3', 'n4'].every((name) => String(taintsOf(l.get(name))) === String(both)),
    'two nodes of four that are evicted from',
  );
  assert.deepEqual(taintsOf(await client.get(nodes, { name: 'n2' })), []);
  assert.deepEqual([...begun.keys()].sort(), ['n3', 'n4']);
  const [first = 0, second = 0] = begun.values();
  assert.ok(second - first > 800, `one second apart, not ${second - first} ms`);

  alive.clear();
  await until(
    nodes,
    (l) => l.list().every((node) => String(taintsOf(node)) === 'unreachable:NoSchedule'),
    'none that is evicted from while all are silent',
  );
  for (const name of names) await kubelets.revive(name);
  await until(nodes, (l) => l.list().every((node) => taintsOf(node).length === 0), 'nodes without taints');
  assert.deepEqual([...begun.keys()].sort(), ['n3', 'n4']);
  const families = readExposition((await cluster.server.metrics.text()).text);
  assert.equal(sampleOf(families, 'node_collector_evictions_total'), 2);
});

test('a node that joins costs the controllers two writes: its block, and its taint that goes when it is ready', async (t) => {
  const cluster = await startCluster(t);
  const { client, until } = cluster;
  const name = 'joins';
  const ready = (status: string) => ({ conditions: [{ type: 'Ready', status }] });
  const patch = (body: object, subresource?: 'status'): Promise<unknown> =>
    client.patch(nodes, { name }, { type: 'strategic', body }, subresource && { subresource });
  // As a kubelet whose network waits for the block.
  await client.create(nodes, { metadata: { name }, spec: {}, status: ready('False') } as unknown as Node);
  await until(nodes, (l) => l.get(name)?.spec?.podCIDR !== undefined, 'its block');
  await patch({ status: ready('True') }, 'status');
  await until(nodes, (l) => taintsOf(l.get(name)).length === 0, 'no taint');
  await patch({ metadata: { labels: { last: 'one' } } });
  const said: string[] = [];
  for await (const { type, object } of client.watch(nodes, { resourceVersion: '1', timeoutSeconds: 60 })) {
    if (type === 'ERROR' || type === 'BOOKMARK') continue;
    const { metadata, spec, status } = object as Node;
    const isReady = status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True');
    said.push(
      [spec?.podCIDR && 'block', isReady && 'ready', ...taintsOf(object as Node)].filter(Boolean).join(' '),
    );
    if (metadata.labels?.['last'] !== undefined) break;
  }
  assert.deepEqual(said, [
    'not-ready:NoSchedule',
    'block not-ready:NoSchedule',
    'block ready not-ready:NoSchedule',
    'block ready',
    'block ready',
  ]);
  const families = readExposition((await cluster.server.metrics.text()).text);
  const refused = { code: '409', verb: 'PATCH', resource: 'nodes', subresource: '' };
  assert.equal(sampleOf(families, 'apiserver_request_total', refused), undefined, 'no write was in vain');
});
