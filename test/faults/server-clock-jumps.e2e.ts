// Somebody sets the clock of a machine on which a real server and a real agent run, forward by an hour and by two days, and back, also
// to before their certificates: nothing acknowledged is lost, the node stays Ready and keeps its pods, and what goes by the time of day does.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  configmaps,
  cronjobs,
  deployments,
  events,
  jobs,
  leases,
  nodes,
  pods,
  tokenreviews,
} from '../../src/api/generated/resources.ts';
import type { CronJob, Job } from '../../src/api/generated/types/batch-v1.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import type { ObjectMeta } from '../../src/api/generated/types/meta-v1.ts';
import { isStatusError } from '../../src/apimachinery/errors.ts';
import type { ResourceRef } from '../../src/apimachinery/resource-ref.ts';
import type { Client } from '../../src/client/client.ts';
import { loadKubeconfig } from '../../src/client/kubeconfig.ts';
import { issueClusterCredentials } from '../../src/cmd/compose/cluster-credentials.ts';
import { type AgentChild, startAgentChild } from '../harness/agent-child.ts';
import { eventually } from '../harness/eventually.ts';
import { scratchDirectory } from '../harness/scratch.ts';
import { type ServerChild, startServerChild } from '../harness/server-child.ts';
import { type SetClock, setClock } from '../harness/set-clock.ts';

const hour = 3_600;
const day = 24 * hour;
const namespace = 'default';
const nodeName = 'n1';
/** Not the server's: a serving certificate is for an address that nobody else has. */
const nodeIp = '127.0.0.2';

interface Cluster {
  readonly clock: SetClock;
  readonly server: ServerChild;
  readonly agent: AgentChild;
  readonly client: Client;
}

async function startCluster(t: TestContext): Promise<Cluster> {
  const scratch = scratchDirectory('clock');
  t.after(() => scratch.remove());
  const clock = setClock(`${scratch.path}/clock`);
  const { env } = clock;
  const dataDir = `${scratch.path}/server`;
  const flags = ['--approve-kubelet-serving'];
  const server = await startServerChild({ dataDir, disable: ['dns'], arguments: flags, env });
  t.after(() => server.kill());
  const nodeDir = `${scratch.path}/node`;
  const admin = await loadKubeconfig(`${dataDir}/admin.kubeconfig`, (path) => readFile(path));
  await issueClusterCredentials({
    clusterName: 'clock',
    serverDir: dataDir,
    localUrl: admin.transport.server,
    nodeUrl: admin.transport.server,
    kubeconfig: `${scratch.path}/kubeconfig`,
    nodes: [{ name: nodeName, ip: nodeIp, dir: nodeDir }],
  });
  const kubeconfig = `${nodeDir}/agent.kubeconfig`;
  const agent = startAgentChild({ nodeName, nodeIp, kubeconfig, dataDir: nodeDir, port: 10250, env });
  t.after(() => agent.kill());
  const { client, close } = await server.connect();
  t.after(close);
  await eventually(async () => {
    const condition = await readyCondition(client).catch(() => undefined);
    assert.equal(condition?.status, 'True', agent.said());
  });
  return { clock, server, agent, client };
}

async function readyCondition(client: Client) {
  const { status } = await client.get(nodes, { name: nodeName });
  return status?.conditions?.find(({ type }) => type === 'Ready');
}

const annotated = (annotations: Record<string, string>) => ({
  // Upstream names no template, and the type wants a name.
  metadata: { labels: { app: 'x' }, annotations } as Omit<ObjectMeta, 'name'> as ObjectMeta,
  spec: { containers: [{ name: 'main', image: 'example.com/x:1' }] },
});
const endless = annotated({});
/** Of a Job, whose pods end at once otherwise. */
const lasting = annotated({ 'porthole.dev/simulated-run-seconds': String(20 * 24 * hour) });
const ending = annotated({ 'porthole.dev/simulated-run-seconds': '0' });
const failing = annotated({
  'porthole.dev/simulated-run-seconds': '0',
  'porthole.dev/simulated-exit-code': '1',
});

const jobOf = ({ metadata, spec }: typeof endless) => ({
  metadata,
  spec: { ...spec, restartPolicy: 'Never' as const },
});

async function createWorkloads(client: Client): Promise<void> {
  const matchLabels = { app: 'x' };
  await client.create(deployments, {
    metadata: { name: 'd', namespace },
    spec: { replicas: 3, selector: { matchLabels }, template: endless },
  });
  await client.create(jobs, {
    metadata: { name: 'long', namespace },
    spec: { activeDeadlineSeconds: 2 * hour, template: jobOf(lasting) },
  });
  await client.create(jobs, {
    metadata: { name: 'short', namespace },
    spec: { ttlSecondsAfterFinished: 2 * hour, template: jobOf(ending) },
  });
  const schedule = '* * * * *';
  for (const [name, startingDeadlineSeconds] of [
    ['any', undefined],
    ['soon', 200],
  ] as const)
    await client.create(cronjobs, {
      metadata: { name, namespace },
      spec: {
        schedule,
        // All that were ever made are counted.
        successfulJobsHistoryLimit: 10_000,
        jobTemplate: { spec: { template: jobOf(ending) } },
        ...(startingDeadlineSeconds === undefined ? {} : { startingDeadlineSeconds }),
      },
    });
}

/** Whoever is responsible looks at it: timers measure what passes, and see no jump. */
async function touch({ client, clock }: Cluster): Promise<void> {
  const body = { metadata: { annotations: { clock: String(clock.shift) } } };
  const merge = { type: 'merge', body } as const;
  await client.patch(nodes, { name: nodeName }, merge);
  const touchAll = async (resource: ResourceRef<Job> | ResourceRef<CronJob>): Promise<void> => {
    const of = resource as ResourceRef<Job>;
    for (const { metadata } of (await client.list(of, { namespace })).items)
      await client.patch(of, { name: metadata!.name!, namespace }, merge).catch((error: unknown) => {
        // Its time to live may be over.
        if (!isStatusError(error, 'NotFound')) throw error;
      });
  };
  await touchAll(jobs);
  await touchAll(cronjobs);
}

const running = ({ status }: Pod): boolean =>
  status?.phase === 'Running' && status.containerStatuses?.[0]?.ready === true;

/** A pod is scheduled, runs, says the time, and ends gracefully. */
async function podComesAndGoes({ client, clock }: Cluster): Promise<void> {
  const made = await client.create(pods, {
    ...endless,
    metadata: { generateName: 'probe-', namespace },
  });
  const key = { name: made.metadata.name, namespace };
  const pod = await eventually(async () => {
    const now = await client.get(pods, key);
    assert.ok(running(now), JSON.stringify(now.status));
    return now;
  });
  const off = Date.parse(pod.status!.startTime!) - Date.now() - clock.shift * 1_000;
  assert.ok(Math.abs(off) < hour * 500, `${key.name} started at ${pod.status!.startTime}`);
  await client.delete(pods, key);
  await eventually(() => assert.rejects(client.get(pods, key), (error) => isStatusError(error, 'NotFound')));
}

async function newToken(client: Client): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default/token`;
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 2 * hour },
  };
  const answer = await client.raw({ method: 'POST', path, body });
  assert.equal(answer.status, 201, answer.body.toString());
  return (JSON.parse(answer.body.toString()) as { status: { token: string } }).status.token;
}

async function isTaken(client: Client, token: string): Promise<boolean> {
  const { status } = await client.create(tokenreviews, { metadata: {}, spec: { token } });
  return status?.authenticated === true;
}

const jobsOf = async (client: Client, cronJob: string): Promise<Job[]> =>
  (await client.list(jobs, { namespace })).items.filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ name }) => name === cronJob),
  );

const job = (client: Client, name: string): Promise<Job> => client.get(jobs, { name, namespace });
const isFailed = ({ status }: Job): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Failed' && is === 'True') === true;

/** Names of what an event of this reason was told of. */
async function toldOf(client: Client, reason: string): Promise<Set<string>> {
  const { items } = await client.list(events, {});
  return new Set(items.filter((one) => one.reason === reason).map((one) => one.involvedObject!.name!));
}

/** Writes without an end; what was acknowledged. */
class Writer {
  readonly acknowledged = new Map<string, number>();
  refused = 0;
  #going = true;
  readonly #done: Promise<void>;
  constructor(client: Client) {
    this.#done = this.#run(client);
  }
  async #run(client: Client): Promise<void> {
    for (let i = 0; this.#going; i++) {
      const name = `w${i}`;
      try {
        const { metadata } = await client.create(configmaps, { metadata: { name, namespace } });
        this.acknowledged.set(name, Number(metadata!.resourceVersion));
      } catch {
        this.refused++;
      }
      await delay(20);
    }
  }
  end(): Promise<void> {
    this.#going = false;
    return this.#done;
  }
}

const podsOf = async (client: Client): Promise<Pod[]> => {
  const { items } = await client.list(pods, { namespace });
  return items.filter(({ metadata }) => metadata.name!.startsWith('d-'));
};
const uidsOf = (list: readonly Pod[]): string[] => list.map(({ metadata }) => metadata.uid!).sort();

async function anHourLater(cluster: Cluster, token: string): Promise<void> {
  const { client, clock } = cluster;
  clock.set(hour);
  await touch(cluster);
  await podComesAndGoes(cluster);
  assert.equal(await isTaken(client, token), true);
  assert.equal(isFailed(await job(client, 'long')), false);
  await job(client, 'short');
  for (const name of ['any', 'soon'])
    await eventually(async () => assert.ok((await jobsOf(client, name)).length > 0, name));
  assert.deepEqual(await toldOf(client, 'TooManyMissedTimes'), new Set());
}

/** Answers with a token of then. */
async function twoDaysLater(cluster: Cluster, token: string): Promise<string> {
  const { client, clock } = cluster;
  clock.set(2 * day);
  await touch(cluster);
  await podComesAndGoes(cluster);
  assert.equal(await isTaken(client, token), false);
  const later = await newToken(client);
  assert.equal(await isTaken(client, later), true);
  await eventually(async () => assert.ok(isFailed(await job(client, 'long'))));
  await eventually(() => assert.rejects(job(client, 'short'), (error) => isStatusError(error, 'NotFound')));
  await eventually(async () => {
    for (const name of ['any', 'soon']) {
      const { status } = await client.get(cronjobs, { name, namespace });
      assert.ok(Date.parse(status!.lastScheduleTime!) > Date.now() + 47 * hour * 1_000, name);
    }
  });
  // Upstream's words for more than a hundred, of which the last is made up for; with a deadline the others do not count.
  await eventually(async () =>
    assert.deepEqual(await toldOf(client, 'TooManyMissedTimes'), new Set(['any'])),
  );
  await client.create(pods, { ...failing, metadata: { ...failing.metadata, name: 'crasher', namespace } });
  return later;
}

const crasher = async (client: Client) => {
  const { status } = await client.get(pods, { name: 'crasher', namespace });
  return status?.containerStatuses?.[0];
};

async function twoDaysBack(cluster: Cluster, token: string, ofLater: string): Promise<void> {
  const { client, clock } = cluster;
  const waits = async (): Promise<number> => {
    const container = await crasher(client);
    assert.equal(container?.state?.waiting?.reason, 'CrashLoopBackOff');
    return container!.restartCount!;
  };
  const restarts = await eventually(waits);
  clock.set(0);
  await touch(cluster);
  await podComesAndGoes(cluster);
  assert.equal(await isTaken(client, token), true);
  assert.equal(await isTaken(client, ofLater), false);
  // It ended two days from now, and waits its ten seconds all the same.
  await eventually(async () => assert.ok((await crasher(client))!.restartCount! > restarts));
  await eventually(async () => {
    const { spec } = await client.get(leases, { name: nodeName, namespace: 'kube-node-lease' });
    assert.ok(Date.parse(spec!.renewTime ?? '') < Date.now() + hour * 1_000);
  });
}

async function beforeItsCertificates(cluster: Cluster, writer: Writer): Promise<void> {
  const { client, clock } = cluster;
  const { refused } = writer;
  assert.equal(refused, 0);
  clock.set(-2 * day);
  await eventually(() => assert.rejects(client.list(nodes), (error) => isStatusError(error, 'Unauthorized')));
  await eventually(() => assert.ok(writer.refused > 0));
  clock.set(0);
  await eventually(() => client.list(nodes));
  await touch(cluster);
  await podComesAndGoes(cluster);
}

test('nothing is lost, given up or made a thousand times when the clock of a server and an agent is set', async (t) => {
  const cluster = await startCluster(t);
  const { client } = cluster;
  await createWorkloads(client);
  const before = await eventually(async () => {
    const all = await podsOf(client);
    assert.equal(all.filter(running).length, 3);
    const { status } = await job(client, 'short');
    assert.equal(status?.succeeded, 1);
    return all;
  });
  const ready = await readyCondition(client);
  const token = await newToken(client);
  const from = performance.now();
  const connection = await cluster.server.connect();
  t.after(connection.close);
  const writer = new Writer(connection.client);
  t.after(() => writer.end());
  await anHourLater(cluster, token);
  const ofLater = await twoDaysLater(cluster, token);
  await twoDaysBack(cluster, token, ofLater);
  await beforeItsCertificates(cluster, writer);
  await writer.end();
  const revisions = [...writer.acknowledged.values()];
  assert.deepEqual(
    revisions,
    revisions.toSorted((a, b) => a - b),
  );
  const there = new Set(
    (await client.list(configmaps, { namespace })).items.map((one) => one.metadata!.name),
  );
  for (const name of writer.acknowledged.keys()) assert.ok(there.has(name), `${name} was acknowledged`);
  const after = await podsOf(client);
  assert.deepEqual(uidsOf(after.filter(running)), uidsOf(before));
  assert.ok(after.every(({ status }) => status!.containerStatuses![0]!.restartCount === 0));
  assert.deepEqual(
    await readyCondition(client).then((one) => one?.lastTransitionTime),
    ready!.lastTransitionTime,
  );
  assert.equal((await toldOf(client, 'NodeNotReady')).size, 0);
  const minutes = Math.ceil((performance.now() - from) / 60_000);
  const made = [...(await jobsOf(client, 'any')), ...(await jobsOf(client, 'soon'))].length;
  assert.ok(made <= 2 * (2 + minutes), `${made} jobs in ${minutes} minutes`);
  t.diagnostic(
    `5 jumps, ${writer.acknowledged.size} acknowledged writes, ${writer.refused} refused, ${made} jobs of CronJobs`,
  );
});
