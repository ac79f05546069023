// What users, operators and misfortune do to a cluster, out of a seed: one act after the other, some time apart.
import * as resources from '../../../src/api/generated/resources.ts';
import type { Node, Taint } from '../../../src/api/generated/types/core-v1.ts';
import { isStatusError } from '../../../src/apimachinery/errors.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { chanceOf } from './chance.ts';
import { type ClusterModel, isFinished, ownerUid } from './cluster-model.ts';
import type { Invariants } from './invariants.ts';
import { components, type SimulatedCluster } from './simulated-cluster.ts';
import { namespace, refOf, type Workload, type WorkloadKind, workloadOf } from './workloads.ts';

/**
 * `steady`: only controllers decide which pods go, so that each of a rollout's steps can be judged; their processes die all the
 * same. `orderly`: operators drain, taint and upgrade, and nothing else befalls. `rough`: everything does.
 */
export type Mood = 'steady' | 'orderly' | 'rough';

export interface StoryParts {
  readonly cluster: SimulatedCluster;
  readonly model: ClusterModel;
  readonly invariants: Invariants;
  readonly mood: Mood;
}

type Act = (story: Story) => Promise<string | undefined>;

const merge = (body: object) => ({ type: 'merge', body }) as const;

export class Story {
  readonly parts: StoryParts;
  readonly chance: SeededRandom;
  readonly workloads: Workload[] = [];
  /** Goes on beside the acts; each ends by itself. */
  readonly #beside = new Set<Promise<void>>();
  #serial = 0;

  constructor(parts: StoryParts) {
    this.parts = parts;
    this.chance = chanceOf(parts.cluster.seed, 'story');
  }

  get #seconds(): number {
    return this.parts.cluster.time.seconds;
  }
  note(text: string): void {
    this.parts.cluster.network.note(`-- ${text}`);
  }
  disturb(): void {
    this.parts.invariants.disturbed(this.#seconds);
  }
  sleep(seconds: number): Promise<void> {
    return this.parts.cluster.time.clock.sleep(seconds * 1000);
  }
  beside(work: Promise<void>): void {
    const kept = work.finally(() => this.#beside.delete(kept));
    this.#beside.add(kept);
  }
  nodeNames(): readonly string[] {
    return [...this.parts.cluster.nodes.keys()];
  }

  async add(kind: WorkloadKind, more: Parameters<typeof workloadOf>[3] = {}): Promise<string> {
    const made = workloadOf(this.chance, kind, this.#serial++, more);
    this.workloads.push(made);
    await made.create(this.parts.cluster.client);
    return `${made.name} for ${made.os}, ${made.replicas} replicas`;
  }

  async patch(workload: Workload, body: object): Promise<void> {
    const key = { name: workload.name, namespace };
    await this.parts.cluster.client.patch(refOf(workload) as never, key, merge(body));
  }

  async patchNode(name: string, change: (node: Node) => object): Promise<void> {
    const { client } = this.parts.cluster;
    const node = await client.get(resources.nodes, { name });
    await client.patch(resources.nodes, { name }, merge({ spec: change(node) }));
  }

  /** Cordoned, and its pods asked to go as their budgets allow; daemons stay. */
  async drain(name: string): Promise<void> {
    const { cluster, model } = this.parts;
    await this.patchNode(name, () => ({ unschedulable: true }));
    for (let round = 0; round < 40; round++) {
      const left = model
        .podsOn(name)
        .filter((pod) => !isFinished(pod) && pod.metadata.ownerReferences?.[0]?.kind !== 'DaemonSet');
      if (left.length === 0) return;
      for (const { metadata } of left) {
        if (metadata.deletionTimestamp !== undefined) continue;
        const key = { name: metadata.name!, namespace: metadata.namespace! };
        const eviction = { metadata: key, deleteOptions: { preconditions: { uid: metadata.uid! } } };
        const asked = this.parts.invariants.evicting(metadata.uid!);
        try {
          await cluster.client.createSubresource(resources.pods, key, 'eviction', eviction);
          this.note(`${key.name} is evicted`);
        } catch (error) {
          if (!isStatusError(error)) throw error;
        } finally {
          asked.answered();
        }
      }
      await this.sleep(5);
    }
    this.note(`${name} could not be drained`);
  }

  /** The acts, then everything is as it should be again. */
  async tell(acts: number): Promise<void> {
    const { cluster, mood } = this.parts;
    await cluster.client.create(resources.namespaces, { metadata: { name: namespace } } as never);
    await cluster.client.create(resources.priorityclasses, {
      metadata: { name: 'urgent' },
      value: 1000,
    } as never);
    await this.sleep(2);
    for (const kind of ['Deployment', 'StatefulSet', 'Deployment', 'DaemonSet', 'Job'] as const)
      this.note(await this.add(kind));
    await this.sleep(20 + this.chance.below(60));
    for (let i = 0; i < acts; i++) {
      const said = await this.#try(this.chance.pick(this.chance.pick(actsOf[mood])));
      if (said !== undefined) this.note(said);
      await this.sleep(this.chance.pick([0, 0.01, 0.5, 3, 10, 60]) * this.chance.random());
    }
    await Promise.all(this.#beside);
    await this.#repair();
  }

  /** Whatever the story asked for, there is room for what is asked for at its end. */
  async #makeRoom(): Promise<void> {
    for (const one of this.workloads.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')) {
      if (one.replicas <= 2) continue;
      one.replicas = 2;
      await this.patch(one, { spec: { replicas: 2 } });
    }
  }

  /** What a user is refused, the user leaves. */
  async #try(act: Act): Promise<string | undefined> {
    try {
      return await act(this);
    } catch (error) {
      if (!isStatusError(error)) throw error;
      return `refused: ${error.message}`;
    }
  }

  async #repair(): Promise<void> {
    const { cluster } = this.parts;
    cluster.weather = {
      ...cluster.network.weather,
      refused: 0,
      lost: 0,
      conflict: 0,
      cut: 0,
      expired: 0,
      lag: 0,
    };
    for (const component of components) cluster.start(component).diesAt = undefined;
    for (const [name, node] of cluster.nodes) {
      node.start().diesAt = undefined;
      await this.#try(async () => {
        await this.patchNode(name, ({ spec }) => ({
          unschedulable: null,
          taints: (spec.taints ?? []).filter(({ key }) => key !== ownTaint.key),
        }));
        return undefined;
      });
    }
    await cluster.client.deleteCollection(resources.resourcequotas, { namespace });
    await this.#makeRoom();
    this.note('all is repaired');
  }
}

const ownTaint: Taint = { key: 'example.com/kept', value: 'out', effect: 'NoExecute' };

const some = (story: Story, ...kinds: readonly WorkloadKind[]): Workload | undefined => {
  const list = story.workloads.filter(({ kind }) => kinds.includes(kind));
  return list.length === 0 ? undefined : story.chance.pick(list);
};

const scale: Act = async (story) => {
  const one = some(story, 'Deployment', 'StatefulSet');
  if (one === undefined) return undefined;
  one.replicas = story.chance.below(one.os === 'windows' ? 4 : 8);
  await story.patch(one, { spec: { replicas: one.replicas } });
  return `${one.name} is scaled to ${one.replicas}`;
};

const rollTo = async (story: Story, one: Workload, version: number): Promise<string> => {
  one.version = version;
  const annotations = { version: String(version) };
  await story.patch(one, { spec: { template: { metadata: { annotations } } } });
  return `${one.name} is rolled to version ${version}`;
};

const roll: Act = async (story) => {
  const one = some(story, 'Deployment', 'StatefulSet', 'DaemonSet');
  return one && rollTo(story, one, one.version + 1);
};

const rollBack: Act = async (story) => {
  const one = some(story, 'Deployment', 'StatefulSet', 'DaemonSet');
  return one && rollTo(story, one, Math.max(1, one.version - 1));
};

const addOne: Act = async (story) =>
  story.workloads.length < 8 ? story.add(story.chance.pick(['Deployment', 'Job', 'StatefulSet'])) : undefined;

const remove: Act = async (story) => {
  if (story.workloads.length < 4) return undefined;
  const one = story.chance.pick(story.workloads);
  story.workloads.splice(story.workloads.indexOf(one), 1);
  const propagationPolicy = story.chance.pick(['Foreground', 'Background'] as const);
  const key = { name: one.name, namespace };
  await story.parts.cluster.client.delete(refOf(one) as never, key, { propagationPolicy });
  return `${one.name} is deleted (${propagationPolicy})`;
};

const setQuota: Act = async (story) => {
  const { client } = story.parts.cluster;
  const hard = story.chance.pick<Record<string, string>>([
    { pods: '8' },
    { pods: '14' },
    { 'requests.cpu': '2' },
    { pods: '60' },
  ]);
  await client.deleteCollection(resources.resourcequotas, { namespace });
  await client.create(resources.resourcequotas, {
    metadata: { name: 'room', namespace },
    spec: { hard },
  } as never);
  return `quota ${JSON.stringify(hard)}`;
};

const cordon: Act = async (story) => {
  const name = story.chance.pick(story.nodeNames());
  const unschedulable = story.chance.below(2) === 0 ? true : null;
  await story.patchNode(name, () => ({ unschedulable }));
  return `${name} is ${unschedulable === null ? 'un' : ''}cordoned`;
};

const taint: Act = async (story) => {
  const name = story.chance.pick(story.nodeNames());
  const on = story.chance.below(2) === 0;
  const effect = story.chance.pick(['NoExecute', 'NoSchedule'] as const);
  story.disturb();
  await story.patchNode(name, ({ spec }) => ({
    taints: [
      ...(spec.taints ?? []).filter(({ key }) => key !== ownTaint.key),
      ...(on ? [{ ...ownTaint, effect }] : []),
    ],
  }));
  return `${name} is ${on ? `tainted ${effect}` : 'untainted'}`;
};

const drainOne: Act = async (story) => {
  const name = story.chance.pick(story.nodeNames());
  story.beside(
    story.drain(name).catch((error: unknown) => {
      if (!isStatusError(error)) throw error;
    }),
  );
  return `${name} is drained`;
};

/** Drained, taken down, up again with what it had before, one after the other. */
const upgrade: Act = async (story) => {
  const names = [...story.nodeNames()].slice(0, 2);
  const work = async (): Promise<void> => {
    for (const name of names) {
      const node = story.parts.cluster.nodes.get(name)!;
      await story.drain(name);
      story.disturb();
      await node.lose();
      await story.sleep(30 + story.chance.below(90));
      node.start();
      await story.patchNode(name, () => ({ unschedulable: null }));
      story.note(`${name} is upgraded`);
    }
  };
  story.beside(
    work().catch((error: unknown) => {
      if (!isStatusError(error)) throw error;
    }),
  );
  return `${names.join()} are upgraded`;
};

const deletePod: Act = async (story) => {
  const list = story.parts.model.list('core/pods').filter((pod) => ownerUid(pod) !== undefined);
  if (list.length === 0) return undefined;
  const { name, namespace: where, ownerReferences } = story.chance.pick(list).metadata;
  story.disturb();
  // By force a pod of a StatefulSet may run twice: who does it has been warned.
  const isMember = ownerReferences?.[0]?.kind === 'StatefulSet';
  const gracePeriodSeconds = story.chance.pick([undefined, undefined, isMember ? 1 : 0]);
  const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
  await story.parts.cluster.client.delete(resources.pods, { name: name!, namespace: where! }, options);
  return `pod ${name} is deleted`;
};

/** Somebody sets the machine's time of day; nothing may take that for time that has passed. */
const setTime: Act = async (story) => {
  const seconds = story.chance.pick([-3600, -40, 40, 3600]);
  story.disturb();
  story.parts.cluster.time.clock.setBy(seconds * 1000);
  return `the time of day is set by ${seconds} s`;
};

/** More than others, and before them. */
const rush: Act = async (story) => {
  if (story.workloads.length >= 9) return undefined;
  story.disturb();
  return story.add('Deployment', { priorityClassName: 'urgent', cpu: '900m' });
};

const dies =
  (component: (typeof components)[number]): Act =>
  async (story) => {
    const { cluster } = story.parts;
    const process = cluster.process(component);
    if (process === undefined) return undefined;
    const again = async (): Promise<void> => {
      await story.sleep(story.chance.pick([0.001, 1, 30, 120]));
      cluster.start(component);
    };
    const calls = story.chance.below(12);
    const moment = story.chance.pick(['before', 'after'] as const);
    process.diesAt = { calls, moment, died: () => story.beside(again()) };
    return `${component} dies ${moment} its call ${calls}`;
  };

const agentDies: Act = async (story) => {
  const name = story.chance.pick(story.nodeNames());
  const node = story.parts.cluster.nodes.get(name)!;
  const agent = node.agent;
  if (agent === undefined) return undefined;
  const again = async (): Promise<void> => {
    await story.sleep(story.chance.pick([0.001, 5, 20]));
    node.start();
  };
  const [calls, moment] = [story.chance.below(6), story.chance.pick(['before', 'after'] as const)];
  agent.diesAt = { calls, moment, died: () => story.beside(again()) };
  return `the agent of ${name} dies ${moment} its call ${calls}`;
};

const lose = async (story: Story, names: readonly string[]): Promise<void> => {
  const { nodes } = story.parts.cluster;
  story.disturb();
  for (const name of names) await nodes.get(name)!.lose();
  await story.sleep(story.chance.pick([2, 30, 70, 200, 600]));
  story.disturb();
  for (const name of names) nodes.get(name)!.start();
  story.note(`${names.join()} are back`);
};

const loseNode: Act = async (story) => {
  const name = story.chance.pick(story.nodeNames());
  story.beside(lose(story, [name]));
  return `${name} is lost`;
};

const loseZone: Act = async (story) => {
  const { nodes } = story.parts.cluster;
  const zone = story.chance.pick([...new Set([...nodes.values()].map(({ plan }) => plan.zone))]);
  const names = [...nodes.values()].filter(({ plan }) => plan.zone === zone).map(({ plan }) => plan.name);
  story.beside(lose(story, names));
  return `zone ${zone} is lost: ${names.join()}`;
};

const changes: readonly Act[] = [scale, scale, roll, roll, rollBack, addOne, remove, setQuota];
const deaths: readonly Act[] = [dies('controllers'), dies('controllers'), dies('scheduler'), agentDies];
const operations: readonly Act[] = [cordon, taint, drainOne, drainOne, upgrade];
const misfortunes: readonly Act[] = [deletePod, deletePod, loseNode, loseZone, setTime, rush];

const actsOf: Readonly<Record<Mood, readonly (readonly Act[])[]>> = {
  steady: [changes, changes, deaths],
  orderly: [changes, operations, operations],
  rough: [changes, operations, deaths, misfortunes],
};
