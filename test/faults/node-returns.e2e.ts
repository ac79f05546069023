// Nodes with real containers that were silent, or whose Node was deleted, are back with their pods, which never stopped.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { clusterPaths } from '../../src/cmd/cluster/cluster-state.ts';
import { livingSupervisor } from '../../src/cmd/supervisor/supervise-cluster.ts';
import { supervisedState } from '../../src/cmd/supervisor/supervision.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { listManifest, podSpec, serve, untilTerm } from '../harness/linux-cluster.ts';

const name = 'returns';
const nodes = ['linux-1', 'windows-1'];
const limit = { timeout: 300_000 };
const patience = { timeoutMs: 60_000, everyMs: 100 };
let cluster: TestCluster;
let root: string;

const windowsWeb = {
  image: 'porthole.local/sample/web-windows:ltsc2022',
  readinessProbe: { httpGet: { path: '/healthz', port: 80 }, periodSeconds: 1 },
};
const pod = (app: string, os: string, container: object): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: app, labels: { app } },
  spec: podSpec(container, { nodeSelector: { 'kubernetes.io/os': os } }),
});
const service = (app: string): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: app },
  spec: { selector: { app }, ports: [{ port: 80 }] },
});

before(async () => {
  // Longer than the ten seconds after which a lease is renewed.
  cluster = await startTestCluster({ name, linux: 1, windows: 1, nodeMonitorGracePeriod: '15s' });
  root = clusterPaths(cluster.home, name).root;
  const loaded = await cluster.porthole(['image', 'build-samples', '--name', name], { timeoutMs: 300_000 });
  assert.equal(loaded.code, 0, loaded.stderr);
  await cluster.kubectl.apply(
    listManifest(
      pod('client', 'linux', { command: untilTerm }),
      pod('linux-web', 'linux', { command: serve('from linux', 80) }),
      pod('windows-web', 'windows', windowsWeb),
      service('linux-web'),
      service('windows-web'),
    ),
  );
  await cluster.kubectl.ok(['wait', '--for=condition=Ready', 'pod', '--all', '--timeout=120s']);
}, limit);
after(() => cluster?.down(), limit);

interface Status {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status: {
    readonly conditions: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly restartCount: number; readonly containerID: string }[];
  };
}
const all = async (resource: string): Promise<readonly Status[]> =>
  (await cluster.kubectl.json<{ items: Status[] }>(['get', resource])).items;
const readiness = async (resource: string): Promise<string[]> =>
  (await all(resource)).map(
    ({ metadata, status }) =>
      `${metadata.name}: ${status.conditions.find(({ type }) => type === 'Ready')?.status}`,
  );
const lives = async (): Promise<object[]> =>
  (await all('pods')).map(({ metadata, status }) => ({
    uid: metadata.uid,
    containers: status.containerStatuses!.map(({ restartCount, containerID }) => [restartCount, containerID]),
  }));
const are = (names: readonly string[], status: string): string[] => names.map((one) => `${one}: ${status}`);
const pods = ['client', 'linux-web', 'windows-web'];
const readyAgain = (): Promise<void> =>
  eventually(async () => {
    assert.deepEqual(await readiness('nodes'), are(nodes, 'True'));
    assert.deepEqual(await readiness('pods'), are(pods, 'True'));
  }, patience);
const reachable = (): Promise<void> =>
  eventually(async () => {
    for (const web of ['linux-web', 'windows-web']) {
      const { spec } = await cluster.kubectl.json<{ spec: { clusterIP: string } }>(['get', 'service', web]);
      await cluster.kubectl.ok([
        'exec',
        'client',
        '--',
        'timeout',
        '10',
        'wget',
        '-qO-',
        `http://${spec.clusterIP}/`,
      ]);
    }
  }, patience);

test(
  'nodes that were silent until they were NotReady are Ready again with their pods, reached by Service',
  limit,
  async (t) => {
    const born = await lives();
    await reachable();
    const agents = nodes.map((node) => supervisedState(root, `agent ${node}`)!.pid!);
    // It would kill who hangs, before the node is NotReady or soon after.
    const supervisor = livingSupervisor(root)!.pid;
    const signal = (pids: readonly number[], what: NodeJS.Signals): void => {
      for (const pid of pids) process.kill(pid, what);
    };
    let from = performance.now();
    const seconds = (): string => ((performance.now() - from) / 1000).toFixed(1);
    signal([supervisor, ...agents], 'SIGSTOP');
    try {
      await eventually(async () => {
        assert.deepEqual(await readiness('nodes'), are(nodes, 'Unknown'));
        assert.deepEqual(await readiness('pods'), are(pods, 'False'));
      }, patience);
      t.diagnostic(`NotReady after ${seconds()} s of silence`);
    } finally {
      from = performance.now();
      signal(agents, 'SIGCONT');
    }
    await readyAgain();
    t.diagnostic(`Ready with all pods ${seconds()} s after they were back`);
    await reachable();
    signal([supervisor], 'SIGCONT');
    assert.deepEqual(await lives(), born);
    assert.deepEqual(
      nodes.map((node) => supervisedState(root, `agent ${node}`)!.pid),
      agents,
    );
  },
);

test(
  'Nodes that were deleted are registered again by up, and their containers never stopped',
  limit,
  async () => {
    const born = await lives();
    await cluster.kubectl.ok(['delete', 'node', ...nodes]);
    await cluster.up();
    await readyAgain();
    await reachable();
    assert.deepEqual(await lives(), born);
  },
);
