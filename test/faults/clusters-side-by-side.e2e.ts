// Three clusters on one machine, two of them of one name in two homes: they churn and call their own Services by name
// while one of them is taken down and up, and none of the others loses a query.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { clusterPaths, readClusterState } from '../../src/cmd/cluster/cluster-state.ts';
import { nodeLayout } from '../../src/cmd/cluster/node-layout.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { listManifest, podManifest, podSpec, serve, untilTerm } from '../harness/linux-cluster.ts';
import { machineTraces } from '../harness/machine-traces.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const minute = 60_000;
const limit = { timeout: 8 * minute };

/** Counts answers with the own cluster's words, and says each other one with its time. */
const askForEver = (words: string): readonly string[] => [
  'sh',
  '-c',
  `ok=0; lost=0; while true; do
     answer=$(timeout 30 wget -q -O - http://web/ 2>&1)
     if [ "$answer" = "${words}" ]; then ok=$((ok+1)); else lost=$((lost+1)); echo "lost at $(date +%T): $answer"; fi
     echo "ok $ok lost $lost" > /counts.new; mv /counts.new /counts
   done`,
];

const deployment = (name: string, replicas: number, container: object, spec: object = {}): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: podSpec(container, spec) },
  },
});
const service = (name: string, app = name): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app }, ports: [{ port: 80, targetPort: 8080 }] },
});

interface Resident {
  readonly cluster: TestCluster;
  /** What its web servers answer, and no other cluster's. */
  readonly words: string;
  churned: number;
}

async function settle(cluster: TestCluster, words: string): Promise<Resident> {
  const loaded = await cluster.porthole(['image', 'build-samples', '--name', cluster.name]);
  assert.equal(loaded.code, 0, loaded.stderr);
  // one server on each node, so that answers come from the own node and from another one
  const spread = {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'web' } },
      },
    ],
  };
  const web = {
    command: serve(words),
    readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
  };
  const nodes = readClusterState(clusterPaths(cluster.home, cluster.name))!.nodes.length;
  await cluster.kubectl.apply(
    listManifest(
      deployment('web', nodes, web, spread),
      service('web'),
      deployment('churn', 1, { command: untilTerm }),
    ),
  );
  await cluster.kubectl.ok(['rollout', 'status', 'deployment/web', '--timeout=120s']);
  await cluster.kubectl.apply(podManifest('client', { command: askForEver(words) }));
  await cluster.kubectl.ok(['wait', '--for=condition=Ready', 'pod/client', '--timeout=120s']);
  return { cluster, words, churned: 0 };
}

/** Deployments scaled, Services made and removed, pods deleted, until told to stop. */
async function churn(resident: Resident, signal: AbortSignal): Promise<void> {
  const { kubectl } = resident.cluster;
  for (let i = 0; !signal.aborted; i++) {
    const operations: (() => Promise<unknown>)[] = [
      () => kubectl.ok(['scale', 'deployment/churn', `--replicas=${1 + (i % 3)}`]),
      () => kubectl.apply(JSON.stringify(service(`churn-${i}`, 'churn'))),
      () => kubectl.ok(['delete', 'pod', '-l', 'app=churn', '--wait=false']),
      () => kubectl.ok(['delete', 'service', `churn-${i}`]),
    ];
    for (const operation of operations) {
      if (signal.aborted) break;
      await operation();
      resident.churned++;
    }
  }
}

async function counts(resident: Resident): Promise<{ ok: number; lost: number }> {
  return eventually(async () => {
    const text = await resident.cluster.kubectl.ok(['exec', 'client', '--', 'cat', '/counts']);
    const [, ok, lost] = /ok (\d+) lost (\d+)/.exec(text)!;
    return { ok: Number(ok), lost: Number(lost) };
  });
}

describe('three clusters on one machine', limit, () => {
  const home = scratchDirectory('home');
  const otherHome = scratchDirectory('home');
  const nodeRoots = [
    ...['linux-1', 'linux-2'].map((node) => clusterPaths(home.path, 'twin').node(node)),
    ...['linux-1', 'linux-2'].map((node) => clusterPaths(home.path, 'third').node(node)),
    clusterPaths(otherHome.path, 'twin').node('linux-1'),
  ];
  const traces = (): Promise<Record<string, string[]>> =>
    machineTraces(nodeRoots.map((root) => nodeLayout(root).cgroupRoot));
  const residents: Resident[] = [];
  let found: Record<string, string[]>;

  before(async () => {
    found = await traces();
    const clusters = await Promise.all([
      startTestCluster({ name: 'twin', linux: 2, home: home.path }),
      startTestCluster({ name: 'third', linux: 2, home: home.path }),
      startTestCluster({ name: 'twin', linux: 1, home: otherHome.path }),
    ]);
    for (const [i, cluster] of clusters.entries()) residents.push(await settle(cluster, `cluster ${i}`));
  });
  after(async () => {
    for (const { cluster } of residents) await cluster.porthole(['down', '--name', cluster.name]);
    home.remove();
    otherHome.remove();
  });

  test('nothing of two clusters has one name or one address', async () => {
    const states = residents.map(
      ({ cluster }) => readClusterState(clusterPaths(cluster.home, cluster.name))!,
    );
    const distinct = (values: readonly (string | undefined)[]): void =>
      assert.equal(new Set(values).size, values.length, values.join(' '));
    distinct(states.map((state) => state.id));
    distinct(states.map((state) => state.server));
    distinct(states.map((state) => state.clusterCidr));
    distinct(states.map((state) => state.nodes[0]!.ip.split('.').slice(0, 3).join('.')));
    distinct(states.flatMap((state) => state.nodes.map((node) => node.netns)));
    distinct(nodeRoots.flatMap((root) => [nodeLayout(root).cgroupRoot, nodeLayout(root).containerdSocket]));
  });

  test('pods of one cluster do not reach those of another', async () => {
    const [one, , other] = residents;
    const address = await other!.cluster.kubectl.ok([
      'get',
      'pods',
      '-l',
      'app=web',
      '-o',
      'jsonpath={.items[0].status.podIP}',
    ]);
    const asked = await one!.cluster.kubectl.run([
      'exec',
      'client',
      '--',
      'wget',
      '-T',
      '3',
      '-q',
      '-O',
      '-',
      `http://${address}:8080/`,
    ]);
    assert.notEqual(asked.code, 0);
    assert.equal(asked.stdout, '');
  });

  test('a minute of churn while one is taken down and up: no query is lost in the others', async (t) => {
    const [one, third, twin] = residents as [Resident, Resident, Resident];
    const ending = new AbortController();
    const beforeIt = await Promise.all([one, third].map(counts));
    const churning = [one, third].map((resident) => churn(resident, ending.signal));
    const until = performance.now() + minute;
    let rounds = 0;
    while (performance.now() < until) {
      await twin.cluster.down({ keepHome: true });
      await twin.cluster.up();
      rounds++;
    }
    ending.abort();
    await Promise.all(churning);
    for (const [i, resident] of [one, third].entries()) {
      const { ok, lost } = await counts(resident);
      const asked = ok - beforeIt[i]!.ok;
      const said = `${resident.words}: ${asked} queries answered, ${lost} lost, ${resident.churned} churn operations, the twin went down and up ${rounds} times`;
      t.diagnostic(said);
      console.log(said);
      assert.equal(lost, 0, await resident.cluster.kubectl.ok(['logs', 'client']));
      assert.ok(asked > 100 && resident.churned > 20 && rounds > 0, said);
    }
    // the one that came back works as before
    residents[2] = await settle(twin.cluster, twin.words);
    await eventually(async () => assert.ok((await counts(residents[2]!)).ok > 10));
    assert.equal((await counts(residents[2]!)).lost, 0);
  });

  test('one that is there twice goes once: its twin is untouched; at the end nothing is left', async () => {
    const [one, third, twin] = residents as [Resident, Resident, Resident];
    await twin.cluster.down({ keepHome: true });
    const { ok } = await counts(one);
    await eventually(async () => assert.ok((await counts(one)).ok > ok + 10));
    await one.cluster.down({ keepHome: true });
    await third.cluster.down({ keepHome: true });
    assert.deepEqual(await traces(), found);
  });
});
