// Services of type LoadBalancer as the machine and pods reach them: over the nodes, from node to node when one goes, and for nobody else.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import type { Kubectl } from '../harness/kubectl.ts';
import { limit, listManifest, podManifest, podSpec, serve, untilTerm } from '../harness/linux-cluster.ts';

let cluster: TestCluster;
let kubectl: Kubectl;
const minutes = { timeout: 180_000 };

before(async () => {
  cluster = await startTestCluster({ linux: 2, windows: 0 });
  kubectl = cluster.kubectl;
  const loaded = await cluster.porthole(['image', 'build-samples', '--name', cluster.name]);
  assert.equal(loaded.code, 0, loaded.stderr);
  const app = { app: 'web' };
  await kubectl.apply(
    listManifest(
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web' },
        spec: {
          replicas: 1,
          selector: { matchLabels: app },
          template: { metadata: { labels: app }, spec: podSpec({ command: serve('$(hostname)') }) },
        },
      },
      ...['Cluster', 'Local'].map((policy) => ({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: policy.toLowerCase() },
        spec: {
          type: 'LoadBalancer',
          externalTrafficPolicy: policy,
          selector: app,
          ports: [{ port: 80, targetPort: 8080 }],
        },
      })),
    ),
  );
  await kubectl.apply(podManifest('client', { command: untilTerm }));
  await kubectl.ok(['wait', '--for=condition=Ready', 'pod/client', '--timeout=60s']);
  await kubectl.ok(['rollout', 'status', 'deployment/web', '--timeout=60s']);
}, minutes);
after(() => cluster?.down(), minutes);

const addressOf = async (name: string): Promise<string> => {
  await kubectl.ok([
    'wait',
    `service/${name}`,
    '--for=jsonpath={.status.loadBalancer.ingress[0].ip}',
    '--timeout=30s',
  ]);
  return kubectl.ok(['get', 'service', name, '-o', 'jsonpath={.status.loadBalancer.ingress[0].ip}']);
};
const answers = (ip: string): Promise<void> =>
  eventually(async () => {
    const response = await fetch(`http://${ip}/`, { signal: AbortSignal.timeout(5_000) });
    assert.match(await response.text(), /^web-/);
  });
const nodeOfPod = (): Promise<string> =>
  kubectl.ok([
    'get',
    'pods',
    '-l',
    'app=web',
    '-o',
    'jsonpath={.items[?(@.status.phase=="Running")].spec.nodeName}',
  ]);

test(
  'answers the machine and pods, whatever its traffic policy; kubectl shows the address',
  limit,
  async () => {
    for (const name of ['cluster', 'local']) {
      const ip = await addressOf(name);
      await answers(ip);
      const { code, stdout } = await kubectl.run([
        'exec',
        'client',
        '--',
        'timeout',
        '20',
        'wget',
        '-qO-',
        `http://${ip}/`,
      ]);
      assert.deepEqual([code, /^web-/.test(stdout)], [0, true]);
      assert.match(
        await kubectl.ok(['get', 'service', name]),
        new RegExp(`LoadBalancer\\s+\\S+\\s+${ip.replaceAll('.', '\\.')}\\s+80:`),
      );
    }
  },
);

test('follows its pods to another node, and away from a node that takes no traffic', limit, async () => {
  const [cluster, local] = [await addressOf('cluster'), await addressOf('local')];
  const before = await nodeOfPod();
  await kubectl.ok(['cordon', before]);
  await kubectl.ok(['rollout', 'restart', 'deployment/web']);
  await kubectl.ok(['rollout', 'status', 'deployment/web', '--timeout=60s']);
  await answers(local);
  await answers(cluster);
  assert.notEqual(await nodeOfPod(), before);
  await kubectl.ok(['uncordon', before]);
  for (const node of ['linux-1', 'linux-2']) {
    await kubectl.ok(['label', 'node', node, 'node.kubernetes.io/exclude-from-external-load-balancers=']);
    await answers(cluster);
    await kubectl.ok(['label', 'node', node, 'node.kubernetes.io/exclude-from-external-load-balancers-']);
  }
});

test('is reached by nobody any more once it is deleted', limit, async () => {
  const ip = await addressOf('cluster');
  await kubectl.ok(['delete', 'service', 'cluster']);
  await eventually(() =>
    assert.rejects(fetch(`http://${ip}/`, { signal: AbortSignal.timeout(3_000) }), /fetch failed|timeout/),
  );
});
