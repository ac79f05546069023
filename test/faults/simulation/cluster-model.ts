// What the store holds, read again from each of its writes: what invariants are asked of.
import type {
  DaemonSet,
  Deployment,
  ReplicaSet,
  StatefulSet,
} from '../../../src/api/generated/types/apps-v1.ts';
import type { Job } from '../../../src/api/generated/types/batch-v1.ts';
import type { Node, Pod, ResourceQuota, Service } from '../../../src/api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../../src/api/generated/types/discovery-v1.ts';
import type { OwnerReference } from '../../../src/api/generated/types/meta-v1.ts';
import type { PodDisruptionBudget } from '../../../src/api/generated/types/policy-v1.ts';
import type { Written } from './trace.ts';

interface Kinds {
  'core/pods': Pod;
  'core/nodes': Node;
  'core/resourcequotas': ResourceQuota;
  'apps/deployments': Deployment;
  'apps/replicasets': ReplicaSet;
  'apps/statefulsets': StatefulSet;
  'apps/daemonsets': DaemonSet;
  'batch/jobs': Job;
  'policy/poddisruptionbudgets': PodDisruptionBudget;
  'core/services': Service;
  'discovery.k8s.io/endpointslices': EndpointSlice;
}
export type ModelKind = keyof Kinds;

const kinds: ReadonlySet<string> = new Set<ModelKind>([
  'core/pods',
  'core/nodes',
  'core/resourcequotas',
  'apps/deployments',
  'apps/replicasets',
  'apps/statefulsets',
  'apps/daemonsets',
  'batch/jobs',
  'policy/poddisruptionbudgets',
  'core/services',
  'discovery.k8s.io/endpointslices',
]);

export interface Change<K extends ModelKind = ModelKind> {
  readonly kind: K;
  readonly seconds: number;
  readonly before: Kinds[K] | undefined;
  readonly now: Kinds[K] | undefined;
}

export const isFinished = (pod: Pod): boolean =>
  pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
export const isGoing = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined;
export const isLive = (pod: Pod): boolean => !isGoing(pod) && !isFinished(pod);
export const isReady = (pod: Pod): boolean =>
  pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

export const ownerUid = (object: {
  readonly metadata: { readonly ownerReferences?: readonly OwnerReference[] | undefined };
}): string | undefined => object.metadata?.ownerReferences?.find(({ controller }) => controller)?.uid;

export class ClusterModel {
  readonly #objects = new Map<string, Map<string, never>>();
  readonly #podsByOwner = new Map<string, Map<string, Pod>>();
  readonly #podsByNode = new Map<string, Map<string, Pod>>();
  /** Every key of the store, with the owners that its object names. */
  readonly owners: Map<string, { readonly uid: string; readonly owners: readonly string[] }> = new Map();

  /** Undefined where the write is of a kind that nobody asks of. */
  take({ key, seconds, type, value }: Written): Change | undefined {
    const [, , group, resource] = key.split('/');
    const kind = `${group}/${resource}` as ModelKind;
    const object = JSON.parse(value.toString()) as {
      metadata: { uid: string; ownerReferences?: readonly { uid: string }[] };
    };
    const { uid, ownerReferences = [] } = object.metadata;
    if (type === 'delete') this.owners.delete(key);
    else this.owners.set(key, { uid, owners: ownerReferences.map((one) => one.uid) });
    if (!kinds.has(kind)) return undefined;
    const all = this.#objects.get(kind) ?? new Map<string, never>();
    this.#objects.set(kind, all);
    const before = all.get(key) as unknown;
    if (type === 'delete') all.delete(key);
    else all.set(key, object as never);
    const now = type === 'delete' ? undefined : object;
    if (kind === 'core/pods') this.#index(key, before as Pod | undefined, now as Pod | undefined);
    return { kind, seconds, before, now } as Change;
  }

  #index(key: string, before: Pod | undefined, now: Pod | undefined): void {
    const put = (index: Map<string, Map<string, Pod>>, of: (pod: Pod) => string | undefined): void => {
      const [old, next] = [before && of(before), now && of(now)];
      if (old !== undefined && old !== next) index.get(old)?.delete(key);
      if (next === undefined) return;
      const list = index.get(next) ?? new Map<string, Pod>();
      index.set(next, list.set(key, now!));
    };
    put(this.#podsByOwner, ownerUid);
    put(this.#podsByNode, (pod) => pod.spec.nodeName);
  }

  list<K extends ModelKind>(kind: K): readonly Kinds[K][] {
    return [...((this.#objects.get(kind) ?? new Map()) as unknown as Map<string, Kinds[K]>).values()];
  }
  get<K extends ModelKind>(kind: K, name: string, namespace?: string): Kinds[K] | undefined {
    const key = `/registry/${kind}/${namespace === undefined ? '' : `${namespace}/`}${name}`;
    return (this.#objects.get(kind) as unknown as Map<string, Kinds[K]> | undefined)?.get(key);
  }
  podsOf(uid: string): readonly Pod[] {
    return [...(this.#podsByOwner.get(uid)?.values() ?? [])];
  }
  podsOn(node: string): readonly Pod[] {
    return [...(this.#podsByNode.get(node)?.values() ?? [])];
  }
  replicaSetsOf(uid: string): readonly ReplicaSet[] {
    return this.list('apps/replicasets').filter((set) => ownerUid(set) === uid);
  }
}
