// `down --keep` ends all that a cluster has on the machine and keeps what it has stored; `up` goes on from there.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { clusterPaths, readClusterState } from '../../src/cmd/cluster/cluster-state.ts';
import { nodeLayout } from '../../src/cmd/cluster/node-layout.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { listManifest, podSpec, untilTerm } from '../harness/linux-cluster.ts';
import { machineTraces } from '../harness/machine-traces.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const limit = { timeout: 300_000 };
const name = 'kept';
const scratch = scratchDirectory('kept');
const paths = clusterPaths(scratch.path, name);
const traces = async (): Promise<Record<string, string[]>> => {
  const { claims, ...rest } = await machineTraces(
    ['linux-1', 'windows-1'].map((node) => nodeLayout(paths.node(node)).cgroupRoot),
  );
  return rest;
};
let cluster: TestCluster;
let found: Record<string, string[]>;

/** Writes when it began, and on SIGTERM, after a second's work, when it ended. */
const diary = (file: string): string =>
  `echo begin >> /data/${file}; trap "sleep 1; echo end >> /data/${file}; exit 0" TERM; while true; do sleep 600 & wait $!; done`;
const template = (app: string, spec: object): object => ({
  metadata: { labels: { app } },
  spec,
});
const deployment = (app: string, spec: object): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: app },
  spec: { replicas: 1, selector: { matchLabels: { app } }, template: template(app, spec) },
});

/** Its programs end at once with their sandbox when that is the first of their process namespace. */
const writer = (app: string, spec: object): object =>
  deployment(
    app,
    podSpec(
      { command: ['sh', '-c', diary(app)], volumeMounts: [{ name: 'v', mountPath: '/data' }] },
      { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }], ...spec },
    ),
  );

before(async () => {
  found = await traces();
  cluster = await startTestCluster({ name, home: scratch.path, linux: 1, windows: 1 });
  const loaded = await cluster.porthole(['image', 'build-samples', '--name', name], { timeoutMs: 300_000 });
  assert.equal(loaded.code, 0, loaded.stderr);
  await cluster.kubectl.apply(
    listManifest(
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
      },
      writer('writer', {}),
      writer('sharing-writer', { shareProcessNamespace: true }),
      deployment(
        'windows-web',
        podSpec(
          {
            image: 'porthole.local/sample/web-windows:ltsc2022',
            readinessProbe: { httpGet: { path: '/healthz', port: 80 }, periodSeconds: 1 },
          },
          { nodeSelector: { 'kubernetes.io/os': 'windows' } },
        ),
      ),
      { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'client' }, spec: podSpec({ command: untilTerm }) },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'windows-web' },
        spec: { selector: { app: 'windows-web' }, ports: [{ port: 80 }] },
      },
    ),
  );
  await cluster.kubectl.ok(['wait', '--for=condition=Ready', 'pod', '--all', '--timeout=50s']);
}, limit);
after(async () => {
  await cluster?.porthole(['down', '--name', name]);
  scratch.remove();
}, limit);

interface Known {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: { readonly podCIDR?: string };
  readonly status: { readonly addresses?: readonly object[] };
}
const nodes = async (): Promise<object[]> =>
  (await cluster.kubectl.json<{ items: Known[] }>(['get', 'nodes'])).items.map(
    ({ metadata: { name, uid }, spec: { podCIDR }, status: { addresses } }) => ({
      name,
      uid,
      podCIDR,
      addresses,
    }),
  );
const pods = async (): Promise<string[]> =>
  (await cluster.kubectl.json<{ items: Known[] }>(['get', 'pods'])).items
    .map(({ metadata }) => metadata.uid)
    .sort();

test(
  'down --keep leaves nothing that runs, mounted, bound or ruled; up brings the same cluster back',
  limit,
  async () => {
    const [nodesBefore, podsBefore, kubeconfig] = [
      await nodes(),
      await pods(),
      readFileSync(cluster.kubeconfig),
    ];
    const { server } = readClusterState(paths)!;
    const kept = await cluster.porthole(['down', '--name', name, '--keep']);
    assert.equal(kept.code, 0, kept.stderr);
    assert.match(kept.stderr, /cluster kept is stopped; porthole up --name kept/);
    assert.deepEqual(await traces(), found);
    const status = await cluster.porthole(['status', '--name', name]);
    assert.equal(status.code, 0, status.stderr);
    assert.match(status.stdout, /^kept: stopped/m);
    const again = await cluster.porthole(['down', '--name', name, '--keep']);
    assert.equal(again.code, 0, again.stderr);
    assert.match(
      (await cluster.porthole(['image', 'ls', '--name', name])).stderr,
      /is stopped; porthole up --name kept/,
    );

    await cluster.up();
    assert.equal(readClusterState(paths)!.server, server);
    assert.deepEqual(await nodes(), nodesBefore);
    assert.deepEqual(readFileSync(cluster.kubeconfig), kubeconfig);
    await eventually(
      async () => {
        assert.deepEqual(await pods(), podsBefore, 'the same pods');
        await cluster.kubectl.ok(['wait', '--for=condition=Ready', 'pod', '--all', '--timeout=1s']);
      },
      { timeoutMs: 90_000, everyMs: 200 },
    );
    for (const app of ['writer', 'sharing-writer']) {
      const written = await cluster.kubectl.ok(['exec', `deploy/${app}`, '--', 'cat', `/data/${app}`]);
      assert.equal(written, 'begin\nend\nbegin\n', `${app} is told to end, and what it wrote stays`);
    }
    await eventually(async () =>
      assert.match(
        await cluster.kubectl.ok([
          'exec',
          'client',
          '--',
          'timeout',
          '10',
          'wget',
          '-qO-',
          'http://windows-web/',
        ]),
        /Hello from a Windows container/,
      ),
    );
    assert.match(
      (await cluster.porthole(['status', '--name', name])).stdout,
      /^server: pid \d+$/m,
      'no accident',
    );
  },
);

test('down of a cluster that is stopped removes it', limit, async () => {
  assert.equal((await cluster.porthole(['down', '--name', name, '--keep'])).code, 0);
  const down = await cluster.porthole(['down', '--name', name]);
  assert.equal(down.code, 0, down.stderr);
  assert.deepEqual(await traces(), found);
  assert.equal(readClusterState(paths), undefined);
});
