// The next step of a StatefulSet, as a pure function: what to create and what to delete, in order.
import type { StatefulSet, StatefulSetStatus } from '../../api/generated/types/apps-v1.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import {
  isPodAvailable,
  isPodReady,
  isPodTerminal,
  isPodTerminating,
} from '../../component-helpers/pod-status.ts';
import { isOfRevision, ordinalOf, type StatefulRevision, startOf } from './stateful-pod.ts';

export interface StatefulView {
  readonly set: StatefulSet;
  readonly pods: readonly Pod[];
  /** The revision that pods had before the update, and the one they get. */
  readonly current: StatefulRevision;
  readonly update: StatefulRevision;
  readonly now: number;
}

export interface StatefulCreation {
  readonly ordinal: number;
  readonly revision: StatefulRevision;
}

export interface StatefulPlan {
  readonly create: readonly StatefulCreation[];
  readonly remove: readonly Pod[];
}

/** Of one step: `replicas` may be any number, and what a step makes brings the next one. */
const maxPerSync = 500;

const replicasOf = (set: StatefulSet): number => set.spec?.replicas ?? 1;
const partitionOf = (set: StatefulSet): number => set.spec?.updateStrategy?.rollingUpdate?.partition ?? 0;
const isRolling = (set: StatefulSet): boolean =>
  (set.spec?.updateStrategy?.type ?? 'RollingUpdate') === 'RollingUpdate';
const isParallel = (set: StatefulSet): boolean => set.spec?.podManagementPolicy === 'Parallel';
const available = (view: StatefulView, pod: Pod): boolean =>
  !isPodTerminating(pod) && isPodAvailable(pod, view.set.spec?.minReadySeconds ?? 0, view.now);

/** Pods below the partition keep the old revision, also when they are made anew. */
const revisionFor = (view: StatefulView, ordinal: number): StatefulRevision =>
  isRolling(view.set) && ordinal < startOf(view.set) + partitionOf(view.set) ? view.current : view.update;

const isHealthy = (pod: Pod): boolean =>
  pod.status?.phase === 'Running' && isPodReady(pod) && !isPodTerminating(pod);

/** From the highest, one after the other. A pod that is not healthy goes only when none below it is in its way. */
function nextCondemned(view: StatefulView, surplus: readonly Pod[]): Pod[] {
  const [last] = surplus;
  if (last === undefined || isPodTerminating(last)) return [];
  if (isHealthy(last) && available(view, last)) return [last];
  return surplus.findLast((pod) => !isHealthy(pod)) === last ? [last] : [];
}

export function statefulPlan(view: StatefulView): StatefulPlan {
  const { set } = view;
  const first = startOf(set);
  const end = first + replicasOf(set);
  const byOrdinal = new Map(view.pods.map((pod) => [ordinalOf(set, pod), pod]));
  const create: StatefulCreation[] = [];
  const remove: Pod[] = [];
  for (let ordinal = first; ordinal < end; ordinal++) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined) create.push({ ordinal, revision: revisionFor(view, ordinal) });
    else if (isPodTerminal(pod) && !isPodTerminating(pod)) remove.push(pod);
    else if (isParallel(set) || available(view, pod)) continue;
    // In order: what comes after waits for this one.
    if (!isParallel(set) || create.length >= maxPerSync) return { create, remove };
  }
  const surplus = view.pods
    .filter((pod) => ordinalOf(set, pod) >= end || ordinalOf(set, pod) < first)
    .sort((a, b) => ordinalOf(set, b) - ordinalOf(set, a));
  if (isParallel(set)) remove.push(...surplus.filter((pod) => !isPodTerminating(pod)));
  else if (surplus.length > 0) return { create, remove: [...remove, ...nextCondemned(view, surplus)] };
  if (create.length > 0 || remove.length > 0) return { create, remove };
  return { create, remove: nextUpdate(view, byOrdinal, end) };
}

/** One at a time, from the highest, and only while all that were updated work. */
function nextUpdate(view: StatefulView, byOrdinal: ReadonlyMap<number, Pod>, end: number): Pod[] {
  const { set } = view;
  if (!isRolling(set)) return [];
  for (let ordinal = end - 1; ordinal >= startOf(set) + partitionOf(set); ordinal--) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined || isPodTerminating(pod)) return [];
    if (!isOfRevision(set, pod, view.update.name)) return [pod];
    if (!available(view, pod)) return [];
  }
  return [];
}

export function statefulStatus(view: StatefulView, collisionCount: number | undefined): StatefulSetStatus {
  const { set, pods, current, update } = view;
  const alive = pods.filter((pod) => !isPodTerminal(pod));
  const created = alive.filter((pod) => !isPodTerminating(pod));
  const countOf = (name: string): number => created.filter((pod) => isOfRevision(set, pod, name)).length;
  const updated = countOf(update.name);
  const isDone =
    isRolling(set) &&
    updated === replicasOf(set) &&
    created.length === replicasOf(set) &&
    created.every(isPodReady);
  return {
    observedGeneration: set.metadata.generation,
    replicas: alive.length,
    readyReplicas: alive.filter((pod) => isPodReady(pod) && !isPodTerminating(pod)).length,
    availableReplicas: alive.filter((pod) => available(view, pod)).length,
    currentReplicas: isDone ? updated : countOf(current.name),
    updatedReplicas: updated,
    currentRevision: isDone ? update.name : current.name,
    updateRevision: update.name,
    collisionCount: collisionCount ?? 0,
  };
}
