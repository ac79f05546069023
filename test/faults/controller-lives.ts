// A life of many objects in a namespace, and processes of all controllers that look after them: they may die at a write, and what they watch may come late, twice or not.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import * as resources from '../../src/api/generated/resources.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import { isStatusError, StatusError } from '../../src/apimachinery/errors.ts';
import type { ResourceRef } from '../../src/apimachinery/resource-ref.ts';
import { rfc3339 } from '../../src/base/clock.ts';
import type { Client } from '../../src/client/client.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { startAllControllers } from '../../src/controllers/start-controllers.ts';
import {
  administrator,
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';
import { frozenInformers } from '../harness/frozen-informers.ts';
import type { SeededRandom } from '../harness/seeded-random.ts';

type Moment = 'before' | 'after';
export interface Crash {
  /** Undefined: at a write of any of them. */
  readonly controller?: string;
  /** Of its writes in the namespace of the life, from 1. */
  readonly nth: number;
  readonly moment: Moment;
}

/** What the stages have to show, so that the calm life is no empty one. */
const expected: readonly (readonly string[])[] = [
  [
    'DaemonSet every    [["currentNumberScheduled",1],["desiredNumberScheduled",1],["numberAvailable",1]',
    'Deployment web    [["availableReplicas",2]',
    'EndpointSlice web-X Service/web   []  2',
    'Endpoints web    []  2',
    'Job fails    [["failed",2]',
    'Job work    [["ready",0],["succeeded",2]',
    'PersistentVolumeClaim store-db-1 StatefulSet/db',
    'ResourceClaim every-X-gpu-X Pod/every-X',
    'StatefulSet db    [["availableReplicas",2]',
  ],
  ['Deployment web    [["availableReplicas",3]', 'EndpointSlice web-X Service/web   []  3', 'Pod db-0 '],
];

class Died extends Error {}

/** What happens to what a process watches, each event by itself: in hundredths. */
const chances = { late: 60, cutBefore: 4, expired: 1, twice: 10, cutAfter: 4 } as const;
const latestMs = 60;

/**
 * The events in their order, but late, twice, and now and then not before the watch has begun anew, from there or with a list.
 * One comes of each watch: reflectors wait ever longer after those of which none does.
 */
async function* troubled<T>(events: AsyncIterable<T>, random: SeededRandom): AsyncGenerator<T> {
  let isFirst = true;
  const happens = (chance: number): boolean => random.below(100) < chance;
  for await (const event of events) {
    if (happens(chances.late)) await systemClock.sleep(random.below(latestMs));
    if (!isFirst && happens(chances.cutBefore)) return;
    if (!isFirst && happens(chances.expired))
      throw new StatusError(410, 'Expired', 'too old resource version');
    isFirst = false;
    yield event;
    if (happens(chances.twice)) yield event;
    if (happens(chances.cutAfter)) return;
  }
}

/** A process that dies at a write: no call of it is answered any more. Troubled, where it is given numbers for that. */
class MortalProcess {
  readonly crash: Crash | undefined;
  readonly namespace: string;
  readonly writes = new Map<string, number>();
  readonly #died = Promise.withResolvers<void>();
  readonly died: Promise<void> = this.#died.promise;
  isDead = false;
  /** Sent, and not answered yet. */
  readonly #underWay = new Set<Promise<unknown>>();

  /** A server gives up what waits there of a client that is gone; what it had begun is done before others look. */
  async nothingUnderWay(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  readonly #random: SeededRandom | undefined;
  #all = 0;

  constructor(namespace: string, crash?: Crash, random?: SeededRandom) {
    this.namespace = namespace;
    this.crash = crash;
    this.#random = random;
  }

  #strikes(controller: string, nth: number): boolean {
    this.#all += 1;
    if (this.crash === undefined) return false;
    return this.crash.controller === undefined
      ? this.crash.nth === this.#all
      : this.crash.controller === controller && this.crash.nth === nth;
  }

  clientOf(user: string, client: Client): Client {
    const controller = user.slice(user.lastIndexOf(':') + 1);
    const write = async <R>(inside: boolean, sendNow: () => Promise<R>): Promise<R> => {
      const send = (): Promise<R> => {
        const sent = sendNow();
        this.#underWay.add(sent);
        const answered = (): void => void this.#underWay.delete(sent);
        sent.then(answered, answered);
        return sent;
      };
      if (this.isDead) throw new Died();
      if (!inside) return send();
      const nth = (this.writes.get(controller) ?? 0) + 1;
      this.writes.set(controller, nth);
      if (!this.#strikes(controller, nth)) return send();
      this.isDead = true;
      if (this.crash?.moment === 'after') await send().catch(() => undefined);
      this.#died.resolve();
      throw new Died();
    };
    const isInside = (object: unknown): boolean => {
      const { metadata } = object as { metadata?: { namespace?: string; name?: string } };
      return (metadata?.namespace ?? metadata?.name) === this.namespace;
    };
    const keyInside = (key: { namespace?: string | undefined; name: string }): boolean =>
      (key.namespace ?? key.name) === this.namespace;
    const random = this.#random;
    return {
      ...client,
      watch: (resource, options) =>
        random === undefined
          ? client.watch(resource, options)
          : troubled(client.watch(resource, options), random),
      create: (resource, object, options) =>
        write(isInside(object), () => client.create(resource, object, options)),
      update: (resource, object, options) =>
        write(isInside(object), () => client.update(resource, object, options)),
      patch: (resource, key, patch, options) =>
        write(keyInside(key), () => client.patch(resource, key, patch, options)),
      delete: (resource, key, options) => write(keyInside(key), () => client.delete(resource, key, options)),
      deleteCollection: (resource, options) =>
        write(options.namespace === this.namespace, () => client.deleteCollection(resource, options)),
      raw: (request) =>
        request.method === 'GET'
          ? client.raw(request)
          : write(`${request.path}/`.includes(`/namespaces/${this.namespace}/`), () => client.raw(request)),
      createSubresource: (resource, key, subresource, body) =>
        write(keyInside(key), () => client.createSubresource(resource, key, subresource, body)),
    };
  }
}

/** Controllers with caches of their own, until they are ended. */
async function startProcess({ server, t }: Machine, mortal: MortalProcess): Promise<() => Promise<void>> {
  const ended = new AbortController();
  // Also when something fails in between.
  t.after(() => ended.abort());
  const { controlPlane } = server;
  const common = { clock: systemClock, random: systemRandom, log: silentLogger, metrics: server.metrics };
  const running = startAllControllers(
    {
      ...common,
      clientFor: (user) => mortal.clientOf(user.name, controlPlane.clientFor(user)),
      signal: ended.signal,
      disabled: ['node-lifecycle-controller'],
    },
    { rootCa: { now: () => 'PEM' }, signers: server.pki.signers, clusterCIDRs: ['10.244.0.0/16'] },
  );
  await running.ready;
  return async () => {
    ended.abort(new Error('the process is dead'));
    await running.done;
  };
}

/** Scheduler and kubelet of all pods: binds, runs, ends and removes them. */
function startNode(server: TestControlPlane, t: TestContext): void {
  const client = server.controlPlane.clientFor(administrator);
  const common = { client, clock: systemClock, random: systemRandom, log: silentLogger };
  const factory = frozenInformers(common);
  const informer = factory.informer(resources.pods);
  let address = 1;
  const act = async (pod: Pod): Promise<void> => {
    const { name, namespace, deletionTimestamp } = pod.metadata;
    const key = { name, namespace: namespace! };
    if (deletionTimestamp !== undefined) return client.delete(resources.pods, key, { gracePeriodSeconds: 0 });
    if (pod.spec.nodeName === undefined) {
      await client.createSubresource(resources.pods, key, 'binding', {
        metadata: { name },
        target: { kind: 'Node', name: 'n1' },
      });
      return;
    }
    const { app } = pod.metadata.labels ?? {};
    const phase = app === 'job' ? 'Succeeded' : app === 'fails' ? 'Failed' : 'Running';
    const ends = phase !== 'Running';
    if (pod.status?.phase === phase) return;
    const lastTransitionTime = rfc3339(systemClock.now());
    const ready = { type: 'Ready', status: ends ? 'False' : 'True', lastTransitionTime };
    const status = { phase, podIP: `10.244.0.${address++ % 250}`, conditions: [ready] };
    await client.patch(resources.pods, key, { type: 'merge', body: { status } }, { subresource: 'status' });
  };
  const see = (pod: Pod): void => {
    void act(pod).catch((error: unknown) => {
      if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'Conflict')) throw error;
    });
  };
  informer.addHandler({ added: see, updated: (_, pod) => see(pod), deleted: () => {} });
  factory.start();
  t.after(() => factory.stop());
}

const template = (app: string, more: object = {}): object => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'c', image: 'c:1', ports: [{ containerPort: 80 }] }], ...more },
});
const workload = (app: string, more: object): object => ({
  selector: { matchLabels: { app } },
  template: template(app),
  ...more,
});

async function createAll(client: Client, namespace: string): Promise<void> {
  const of = (name: string, spec: object): never => ({ metadata: { name, namespace }, spec }) as never;
  await client.create(resources.namespaces, { metadata: { name: namespace } } as never);
  await client.create(resources.services, of('web', { selector: { app: 'web' }, ports: [{ port: 80 }] }));
  await client.create(resources.deployments, of('web', workload('web', { replicas: 2 })));
  await client.create(resources.deployments, of('gone', workload('gone', { replicas: 1 })));
  const store = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  const set = {
    ...{
      replicas: 2,
      serviceName: 'db',
      volumeClaimTemplates: [{ metadata: { name: 'store' }, spec: store }],
    },
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Delete' },
  };
  await client.create(resources.statefulsets, of('db', workload('db', set)));
  const requests = [{ name: 'gpu', exactly: { deviceClassName: 'gpu' } }];
  await client.create(resources.resourceclaimtemplates, of('gpu', { spec: { devices: { requests } } }));
  const device = { resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'gpu' }] };
  await client.create(
    resources.daemonsets,
    of('every', workload('every', { template: template('every', device) })),
  );
  const never = { restartPolicy: 'Never' };
  await client.create(
    resources.jobs,
    of('work', { completions: 2, parallelism: 1, template: template('job', { ...never, ...device }) }),
  );
  const indexed = { completionMode: 'Indexed', completions: 2, parallelism: 2, backoffLimitPerIndex: 0 };
  await client.create(resources.jobs, of('fails', { ...indexed, template: template('fails', never) }));
}

const kinds: readonly ResourceRef<{ metadata?: object }>[] = [
  resources.configmaps,
  resources.controllerrevisions,
  resources.daemonsets,
  resources.deployments,
  resources.endpoints,
  resources.endpointslices,
  resources.jobs,
  resources.persistentvolumeclaims,
  resources.pods,
  resources.replicasets,
  resources.resourceclaims,
  resources.serviceaccounts,
  resources.services,
  resources.statefulsets,
] as never;

/** Random and counted parts of names and values are as good as any other. */
function plain(text: string, namespace: string): string {
  return text
    .replaceAll(namespace, 'NS')
    .replace(/\b(web-[a-z0-9]+|gone-[a-z0-9]+|fails-[01]|work|every|web)-[a-z0-9]{5}\b/g, '$1-X')
    .replace(/-gpu-[a-z0-9]{5}\b/g, '-gpu-X');
}

const conditionsOf = (status: Record<string, unknown>): string =>
  ((status.conditions ?? []) as { type: string; status: string; reason?: string }[])
    .map((one) => `${one.type}=${one.status}`)
    .sort()
    .join();

/** What there is, without what differs from run to run: names' random ends, times, revisions, identifiers. */
async function summary(client: Client, namespace: string): Promise<string[]> {
  const lines: string[] = [];
  for (const kind of kinds) {
    const { items } = await client.list(kind, { namespace });
    for (const item of items as Record<string, Record<string, never>>[]) {
      const { name, ownerReferences, finalizers, deletionTimestamp } = item.metadata as Record<string, never>;
      const owners = ((ownerReferences ?? []) as { kind: string; name: string }[]).map(
        (o) => `${o.kind}/${o.name}`,
      );
      const status = (item.status ?? {}) as Record<string, unknown>;
      const counts = Object.entries(status).filter(
        ([, value]) => typeof value === 'number' || value === 'Running',
      );
      const subsets = (item as { subsets?: { addresses?: object[] }[] }).subsets;
      const addressed =
        (item as { endpoints?: object[] }).endpoints?.length ??
        subsets?.reduce((sum, one) => sum + (one.addresses?.length ?? 0), 0);
      lines.push(
        plain(
          [
            kind.kind,
            name,
            owners,
            finalizers ?? '',
            deletionTimestamp === undefined ? '' : 'terminating',
            JSON.stringify(
              counts.filter(([k]) => k !== 'observedGeneration' && k !== 'collisionCount').sort(),
            ),
            conditionsOf(status),
            addressed ?? '',
          ].join(' '),
          namespace,
        ),
      );
    }
  }
  return lines.sort();
}

/** The life of a namespace: all of it is made, some of it changes, some goes, at last all goes. Calls `alive` in between. */
async function live(
  client: Client,
  namespace: string,
  reached: (stage: number, summary: () => Promise<string[]>) => Promise<void>,
): Promise<void> {
  const now = (): Promise<string[]> => summary(client, namespace);
  await createAll(client, namespace);
  await reached(0, now);
  const key = (name: string): { name: string; namespace: string } => ({ name, namespace });
  const merge = (body: object): { type: 'merge'; body: object } => ({ type: 'merge', body });
  await client.patch(
    resources.deployments,
    key('web'),
    merge({ spec: { replicas: 3, template: { metadata: { annotations: { v: '2' } } } } }),
  );
  await client.patch(resources.statefulsets, key('db'), merge({ spec: { replicas: 1 } }));
  await client.delete(resources.deployments, key('gone'), { propagationPolicy: 'Foreground' });
  await reached(1, now);
  await client.delete(resources.namespaces, { name: namespace });
  await reached(2, async () => {
    const left = await client.list(resources.namespaces);
    return [
      ...(await now()),
      ...left.items.filter((n) => n.metadata?.name === namespace).map(() => 'namespace'),
    ];
  });
}

export interface Machine {
  readonly t: TestContext;
  readonly server: TestControlPlane;
  readonly client: Client;
}

export async function startMachine(t: TestContext): Promise<Machine> {
  const server = await startTestControlPlane();
  t.after(() => server.close());
  const client = server.controlPlane.clientFor(administrator);
  await client.create(resources.nodes, { metadata: { name: 'n1' } } as never);
  await client.patch(resources.nodes, { name: 'n1' }, { type: 'merge', body: { spec: { taints: null } } });
  const status = { conditions: [{ type: 'Ready', status: 'True' }], allocatable: { pods: '110' } };
  await client.patch(
    resources.nodes,
    { name: 'n1' },
    { type: 'merge', body: { status } },
    { subresource: 'status' },
  );
  startNode(server, t);
  return { t, server, client };
}

/** Several lives share a thread, on a machine that may have other work. */
const patienceMs = 180_000;
/** So often a calm life looks the same before it is at rest. */
const quietLooks = 20;

/** An undisturbed life: what each stage ends in, and how often each controller wrote. */
export async function calmLife(machine: Machine): Promise<{
  readonly stages: readonly (readonly string[])[];
  readonly writes: ReadonlyMap<string, number>;
}> {
  const { client } = machine;
  const mortal = new MortalProcess('calm');
  const stop = await startProcess(machine, mortal);
  const stages: string[][] = [];
  await live(client, 'calm', async (stage, now) => {
    let same = 0;
    let last = '';
    stages[stage] = await eventually(
      async () => {
        const lines = await now();
        same = lines.join() === last ? same + 1 : 0;
        last = lines.join();
        assert.ok(same >= quietLooks, `something still changes:\n${last}`);
        assert.ok(!lines.some((line) => line.includes(' terminating [')), lines.join('\n'));
        for (const mark of expected[stage] ?? [])
          assert.ok(
            lines.some((line) => line.startsWith(mark)),
            `stage ${stage} has no ${mark}:\n${lines.join('\n')}`,
          );
        return lines;
      },
      { everyMs: 50, timeoutMs: patienceMs },
    );
  });
  await stop();
  return { stages, writes: mortal.writes };
}

export interface Life {
  readonly namespace: string;
  readonly crash?: Crash;
  /** Troubles what the processes watch. */
  readonly random?: SeededRandom;
}

/** A life in which the process may die once; true when it did. What there is at each stage is what a calm life has. */
export async function liveThrough(
  machine: Machine,
  { namespace, crash, random }: Life,
  stages: readonly (readonly string[])[],
): Promise<boolean> {
  const mortal = new MortalProcess(namespace, crash, random);
  const stopFirst = await startProcess(machine, mortal);
  const replaced = mortal.died.then(async () => {
    await stopFirst();
    await mortal.nothingUnderWay();
    return startProcess(machine, new MortalProcess(namespace, undefined, random));
  });
  await live(machine.client, namespace, (stage, now) =>
    eventually(async () => assert.deepEqual(await now(), stages[stage], `${namespace}, stage ${stage}`), {
      everyMs: 50,
      timeoutMs: patienceMs,
    }),
  );
  const stop = mortal.isDead ? await replaced : stopFirst;
  await stop();
  return mortal.isDead;
}
