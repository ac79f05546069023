// What must hold at every write, whatever else happens; what may be late because somebody has not heard yet is late by so much.

import { podRequestAmounts } from '../../../src/api/core/v1/pod-resources.ts';
import type { Deployment } from '../../../src/api/generated/types/apps-v1.ts';
import type { Node, Pod } from '../../../src/api/generated/types/core-v1.ts';
import { parseQuantity } from '../../../src/apimachinery/quantity.ts';
import { findUntoleratedTaint } from '../../../src/component-helpers/taints.ts';
import {
  type Change,
  type ClusterModel,
  isFinished,
  isGoing,
  isLive,
  isReady,
  ownerUid,
} from './cluster-model.ts';

export interface InvariantOptions {
  readonly model: ClusterModel;
  /** How long a component may act on what it has not heard of, in seconds. */
  readonly staleSeconds: number;
  /** Answers to writes are lost: what was made may be made once more before it is seen. */
  readonly answersAreLost: boolean;
  violated(text: string): void;
}

/** The most and the least that something was in the last while. */
class Recent {
  readonly #seconds: number;
  readonly #values: { readonly at: number; readonly value: number }[] = [];
  constructor(seconds: number) {
    this.#seconds = seconds;
  }
  put(at: number, value: number): void {
    this.#values.push({ at, value });
  }
  /** What held when the while began counts, and it began no later than `since`. */
  of(now: number, since = now): readonly number[] {
    const from = Math.min(since, now - this.#seconds);
    const first = this.#values.findLastIndex(({ at }) => at < from);
    return this.#values.slice(Math.max(0, first)).map(({ value }) => value);
  }
}

const bound = (value: number | string | undefined, total: number, up: boolean): number => {
  if (typeof value === 'number') return value;
  const share = (Number.parseInt(value ?? '25', 10) * total) / 100;
  return up ? Math.ceil(share) : Math.floor(share);
};

/** maxSurge and maxUnavailable; of both zero, upstream takes one as unavailable. */
function rolloutBounds({ spec }: Deployment): { readonly most: number; readonly least: number } {
  const replicas = spec.replicas ?? 1;
  if (spec.strategy?.type === 'Recreate') return { most: replicas, least: 0 };
  const { maxSurge = '25%', maxUnavailable = '25%' } = spec.strategy?.rollingUpdate ?? {};
  const surge = bound(maxSurge, replicas, true);
  const unavailable = bound(maxUnavailable, replicas, false);
  return {
    most: replicas + surge,
    least: replicas - (surge === 0 && unavailable === 0 ? 1 : unavailable),
  };
}

const nano = (pods: readonly Pod[], resource: string): bigint =>
  pods.reduce((sum, pod) => sum + (podRequestAmounts(pod).get(resource)?.nano ?? 0n), 0n);
const hold = (pod: Pod): string => `${pod.metadata.namespace}/${pod.metadata.name}`;

/** It should be gone by now: upstream counts it no more. */
const isOverdue = ({ metadata }: Pod, wall: number): boolean =>
  metadata.deletionTimestamp !== undefined && Date.parse(metadata.deletionTimestamp) < wall;

export class Invariants {
  readonly #options: InvariantOptions;
  readonly #most = new Map<string, Recent>();
  readonly #least = new Map<string, Recent>();
  readonly #parallel = new Map<string, Recent>();
  /** When a node came to be as it is: cordoned, tainted. */
  readonly #keptOutSince = new Map<string, number>();
  /** When something befell pods that no controller decided. */
  #disturbedAt = Number.NEGATIVE_INFINITY;
  #blindSince: number | undefined;
  #seeingSince = Number.NEGATIVE_INFINITY;
  /** When a pod of the app last came or went otherwise than by eviction, or its number changed. */
  readonly #changedAt = new Map<string, number>();
  readonly #evicting = new Set<string>();
  /** So many checks were made of each kind: an invariant that nothing asked is none. */
  readonly asked: Map<string, number> = new Map();

  constructor(options: InvariantOptions) {
    this.#options = options;
  }

  /** Pods were lost, deleted or evicted by others than their controllers. */
  disturbed(seconds: number): void {
    this.#disturbedAt = seconds;
  }

  /** Nobody controls from here on; what was asked for until then is what others go on with. */
  controllersEnd(seconds: number): void {
    this.#blindSince = Math.min(this.#blindSince ?? seconds, seconds);
  }
  controllersStart(seconds: number): void {
    this.#seeingSince = seconds;
  }
  /** Since when somebody may act on what is no more asked for. */
  #since(seconds: number): number {
    if (this.#blindSince === undefined) return seconds;
    if (this.#seeingSince > this.#blindSince && seconds - this.#seeingSince > this.#options.staleSeconds)
      this.#blindSince = undefined;
    return this.#blindSince ?? seconds;
  }

  /** Somebody asks for a pod to be evicted: if it goes until that is answered, its budgets let it go. */
  evicting(uid: string): { answered(): void } {
    this.#evicting.add(uid);
    return { answered: () => void this.#evicting.delete(uid) };
  }

  #ask(name: string, holds: boolean, text: () => string): void {
    this.asked.set(name, (this.asked.get(name) ?? 0) + 1);
    if (!holds) this.#options.violated(`${name}: ${text()}`);
  }

  see(change: Change): void {
    const { kind } = change;
    if (kind === 'core/pods') this.#pod(change as Change<'core/pods'>);
    else if (kind === 'core/nodes') this.#node(change as Change<'core/nodes'>);
    else if (kind === 'apps/deployments') this.#deployment(change as Change<'apps/deployments'>);
    else if (kind === 'apps/statefulsets') this.#statefulSet(change as Change<'apps/statefulsets'>);
    else if (kind === 'batch/jobs') this.#job(change as Change<'batch/jobs'>);
  }

  #recent(map: Map<string, Recent>, uid: string): Recent {
    const known = map.get(uid) ?? new Recent(this.#options.staleSeconds);
    map.set(uid, known);
    return known;
  }

  #deployment({ before, now, seconds }: Change<'apps/deployments'>): void {
    if (now === undefined) return;
    if (now.spec.replicas !== before?.spec.replicas) this.#changedAt.set(now.metadata.name!, seconds);
    const { least, most } = rolloutBounds(now);
    this.#recent(this.#most, now.metadata.uid!).put(seconds, most);
    this.#recent(this.#least, now.metadata.uid!).put(seconds, least);
  }

  #statefulSet({ before, now, seconds }: Change<'apps/statefulsets'>): void {
    if (now?.spec.replicas !== before?.spec.replicas)
      this.#changedAt.set((now ?? before)!.metadata.name!, seconds);
  }

  #job({ now, seconds }: Change<'batch/jobs'>): void {
    if (now === undefined) return;
    const { completions = 1, parallelism = 1, suspend } = now.spec;
    this.#recent(this.#parallel, now.metadata.uid!).put(seconds, suspend === true ? 0 : parallelism);
    const { succeeded = 0 } = now.status ?? {};
    if (!this.#options.answersAreLost)
      this.#ask(
        'a Job completes no more than it is to',
        succeeded <= completions,
        () => `${now.metadata.name}: ${succeeded} of ${completions}`,
      );
  }

  #node({ before, now, seconds }: Change<'core/nodes'>): void {
    if (now === undefined) return;
    const closed = (node: Node | undefined): string =>
      JSON.stringify([node?.spec.unschedulable === true, node?.spec.taints ?? []]);
    if (closed(before) !== closed(now)) this.#keptOutSince.set(now.metadata.name!, seconds);
  }

  #pod(change: Change<'core/pods'>): void {
    const { before, now, seconds } = change;
    if (before === undefined && now !== undefined) this.#created(now, seconds);
    if (before !== undefined && now !== undefined) this.#bound(before, now, seconds);
    const was = before !== undefined && isLive(before) && isReady(before);
    const is = now !== undefined && isLive(now) && isReady(now);
    if (was === is) return;
    const app = (before ?? now)!.metadata.labels?.['app'] ?? '';
    const isEvicted = was && this.#evicting.has(before.metadata.uid!) && (now === undefined || isGoing(now));
    if (isEvicted) this.#evicted(before, app, seconds);
    else this.#changedAt.set(app, seconds);
    if (isEvicted) this.#disturbedAt = seconds;
    else if (was && (now === undefined || !isLive(now))) this.#left(before, seconds);
  }

  #bound(before: Pod, now: Pod, seconds: number): void {
    const [from, to] = [before.spec.nodeName, now.spec.nodeName];
    if (from === to || to === undefined) return;
    this.#ask('a pod is bound once', from === undefined, () => `${hold(now)} went from ${from} to ${to}`);
    const node = this.#options.model.get('core/nodes', to);
    if (node === undefined) return;
    this.#fits(now, node, seconds);
    this.#hasRoom(node);
  }

  #fits(pod: Pod, node: Node, seconds: number): void {
    const labels = node.metadata.labels ?? {};
    const wanted = Object.entries(pod.spec.nodeSelector ?? {});
    this.#ask(
      'a pod is bound to a node of its system',
      (pod.spec.os === undefined || labels['kubernetes.io/os'] === pod.spec.os.name) &&
        wanted.every(([name, value]) => labels[name] === value),
      () => `${hold(pod)} for ${pod.spec.os?.name} ${JSON.stringify(wanted)} is on ${node.metadata.name}`,
    );
    const since = this.#keptOutSince.get(node.metadata.name!) ?? 0;
    if (seconds - since <= this.#options.staleSeconds) return;
    const taint = findUntoleratedTaint(node.spec.taints, pod.spec.tolerations);
    this.#ask(
      'a pod is bound to a node that takes it',
      taint === undefined,
      () =>
        `${hold(pod)} is on ${node.metadata.name}, which has had ${JSON.stringify(taint)} for ${seconds - since} s`,
    );
  }

  #hasRoom(node: Node): void {
    if (this.#options.answersAreLost) return;
    const on = this.#options.model.podsOn(node.metadata.name!).filter((pod) => !isFinished(pod));
    for (const resource of ['cpu', 'memory']) {
      const room = parseQuantity(node.status?.allocatable?.[resource] ?? '0').nano;
      const taken = nano(on, resource);
      this.#ask(
        'a node has room for its pods',
        taken <= room,
        () => `${node.metadata.name} has ${room} of ${resource}, its pods ask for ${taken}: ${on.map(hold)}`,
      );
    }
  }

  #deploymentOf(pod: Pod): Deployment | undefined {
    const set = this.#options.model
      .list('apps/replicasets')
      .find(({ metadata }) => metadata.uid === ownerUid(pod));
    const uid = set && ownerUid(set);
    return this.#options.model.list('apps/deployments').find(({ metadata }) => metadata.uid === uid);
  }

  #podsOfDeployment(deployment: Deployment): readonly Pod[] {
    const { model } = this.#options;
    return model.replicaSetsOf(deployment.metadata.uid!).flatMap((set) => model.podsOf(set.metadata.uid!));
  }

  #created(pod: Pod, seconds: number): void {
    this.#withinQuota(pod, seconds);
    if (this.#options.answersAreLost) return;
    const deployment = this.#deploymentOf(pod);
    if (deployment !== undefined) {
      const live = this.#podsOfDeployment(deployment).filter(isLive).length;
      const most = Math.max(
        ...this.#recent(this.#most, deployment.metadata.uid!).of(seconds, this.#since(seconds)),
      );
      this.#ask(
        'a Deployment never has more than its surge',
        live <= most,
        () => `${deployment.metadata.name} has ${live} pods with ${hold(pod)}, at most ${most} may be`,
      );
    }
    const owner = ownerUid(pod);
    const job = this.#options.model.list('batch/jobs').find(({ metadata }) => metadata.uid === owner);
    if (job !== undefined) {
      const active = this.#options.model.podsOf(owner!).filter(isLive).length;
      const most = Math.max(...this.#recent(this.#parallel, owner!).of(seconds, this.#since(seconds)));
      this.#ask(
        'a Job runs no more than it may at once',
        active <= most,
        () => `${job.metadata.name}: ${active} of ${most}`,
      );
    }
    this.#oneDaemonEach(pod, owner);
  }

  #oneDaemonEach(pod: Pod, owner: string | undefined): void {
    const set = this.#options.model.list('apps/daemonsets').find(({ metadata }) => metadata.uid === owner);
    if (set === undefined) return;
    const place = ({ spec }: Pod): string => JSON.stringify(spec.affinity?.nodeAffinity);
    const same = this.#options.model.podsOf(owner!).filter((one) => isLive(one) && place(one) === place(pod));
    const { maxSurge = 0 } = set.spec.updateStrategy?.rollingUpdate ?? {};
    this.#ask(
      'a DaemonSet has one pod on a node',
      same.length <= (maxSurge === 0 ? 1 : 2),
      () => `${set.metadata.name} has ${same.map(hold)} on one node`,
    );
  }

  #withinQuota(pod: Pod, seconds: number): void {
    const { model } = this.#options;
    const wall = Date.parse(pod.metadata.creationTimestamp!);
    const { namespace } = pod.metadata;
    for (const quota of model
      .list('core/resourcequotas')
      .filter(({ metadata }) => metadata.namespace === namespace)) {
      const counted = model
        .list('core/pods')
        .filter((one) => one.metadata.namespace === namespace && !isFinished(one) && !isOverdue(one, wall));
      const most = quota.spec?.hard?.['pods'];
      if (most !== undefined)
        this.#ask(
          'a quota is never passed',
          counted.length <= Number(most),
          () => `${counted.length} pods of ${most} at ${seconds}`,
        );
      const cpu = quota.spec?.hard?.['requests.cpu'];
      if (cpu !== undefined)
        this.#ask(
          'a quota is never passed',
          nano(counted, 'cpu') <= parseQuantity(cpu).nano,
          () => `cpu ${nano(counted, 'cpu')} of ${cpu}`,
        );
    }
  }

  /** Told by the budgets' own numbers and what there is; what changed just now the budget need not know. */
  #evicted(pod: Pod, app: string, seconds: number): void {
    const { model, staleSeconds } = this.#options;
    if (seconds - (this.#changedAt.get(app) ?? 0) <= staleSeconds || this.#since(seconds) < seconds) return;
    const ofApp = ({ metadata }: Pod): boolean => metadata.labels?.['app'] === app;
    const healthy = model.list('core/pods').filter((one) => ofApp(one) && isLive(one) && isReady(one)).length;
    for (const { metadata, spec, status } of model.list('policy/poddisruptionbudgets')) {
      if (spec?.selector?.matchLabels?.['app'] !== app) continue;
      const owners = [...model.list('apps/deployments'), ...model.list('apps/statefulsets')];
      const expected = owners.find((one) => one.metadata.name === metadata!.name)?.spec.replicas ?? 0;
      const least =
        spec.minAvailable !== undefined
          ? bound(spec.minAvailable, expected, true)
          : expected - bound(spec.maxUnavailable, expected, true);
      this.#ask(
        'an eviction leaves what the budget asks for',
        healthy >= least,
        () =>
          `${metadata!.name} has ${healthy} healthy pods without ${hold(pod)}, ${least} must be; it says ${JSON.stringify(status)}`,
      );
    }
  }

  #left(pod: Pod, seconds: number): void {
    const { answersAreLost, staleSeconds } = this.#options;
    const deployment = this.#deploymentOf(pod);
    if (answersAreLost || deployment === undefined || isGoing(deployment as never)) return;
    if (seconds - this.#disturbedAt <= staleSeconds + settlingSeconds) return;
    const available = this.#podsOfDeployment(deployment).filter((one) => isLive(one) && isReady(one)).length;
    const least = Math.min(
      ...this.#recent(this.#least, deployment.metadata.uid!).of(seconds, this.#since(seconds)),
    );
    this.#ask(
      'a rollout never takes more than it may',
      available >= least,
      () =>
        `${deployment.metadata.name} has ${available} available without ${hold(pod)}, at least ${least} must be`,
    );
  }
}

/** After a disturbance, until its pods are replaced: what goes meanwhile is not what a rollout takes. */
const settlingSeconds = 600;
