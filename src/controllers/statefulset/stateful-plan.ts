// The next step of a StatefulSet, as a pure function: what to create and what to delete, in order.
import type { StatefulSet, StatefulSetStatus } from '../../api/generated/types/apps-v1.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { scaledValue } from '../../apimachinery/int-or-string.ts';
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

/** In this order; what fails ends the step. */
export interface StatefulPlan {
  /** They wait for a node, perhaps for a claim that somebody took away. */
  readonly pending: readonly Pod[];
  /** They stay: their names, labels and claims are to be as the set says. */
  readonly staying: readonly Pod[];
  /** They ended, and are made anew. */
  readonly restart: readonly Pod[];
  readonly create: readonly StatefulCreation[];
  /** Beyond what the set asks for: of their claims the policy says who owns them, before any of them goes. */
  readonly condemned: readonly Pod[];
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

/** From the highest, one after the other. A pod that is not available goes only when none below it is in its way. */
function nextCondemned(view: StatefulView, surplus: readonly Pod[]): Pod[] {
  const [last] = surplus;
  if (last === undefined || isPodTerminating(last)) return [];
  if (available(view, last)) return [last];
  return surplus.findLast((pod) => !available(view, pod)) === last ? [last] : [];
}

interface OrderedSteps {
  readonly pending: Pod[];
  readonly staying: Pod[];
  readonly restart: Pod[];
  readonly create: StatefulCreation[];
}

/** What those that the set asks for need; false when what comes after has to wait. */
function stepsOfReplicas(
  view: StatefulView,
  byOrdinal: ReadonlyMap<number, Pod>,
  { pending, staying, restart, create }: OrderedSteps,
): boolean {
  const { set } = view;
  const parallel = isParallel(set);
  const first = startOf(set);
  for (let ordinal = first; ordinal < first + replicasOf(set); ordinal++) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined) create.push({ ordinal, revision: revisionFor(view, ordinal) });
    else if (isPodTerminal(pod)) {
      if (!isPodTerminating(pod)) restart.push(pod);
    } else {
      if (pod.status?.phase === 'Pending') pending.push(pod);
      if (parallel || available(view, pod)) {
        staying.push(pod);
        continue;
      }
    }
    // In order: what comes after waits for this one.
    if (!parallel || create.length >= maxPerSync) return false;
  }
  return true;
}

export function statefulPlan(view: StatefulView): StatefulPlan {
  const { set } = view;
  const first = startOf(set);
  const end = first + replicasOf(set);
  const byOrdinal = new Map(view.pods.map((pod) => [ordinalOf(set, pod), pod]));
  const steps: OrderedSteps = { pending: [], staying: [], restart: [], create: [] };
  if (!stepsOfReplicas(view, byOrdinal, steps)) return { ...steps, condemned: [], remove: [] };
  const condemned = view.pods
    .filter((pod) => ordinalOf(set, pod) >= end || ordinalOf(set, pod) < first)
    .sort((a, b) => ordinalOf(set, b) - ordinalOf(set, a));
  const remove = isParallel(set)
    ? condemned.filter((pod) => !isPodTerminating(pod))
    : nextCondemned(view, condemned);
  if (!isParallel(set) && condemned.length > 0) return { ...steps, condemned, remove };
  const busy = steps.create.length + steps.restart.length + remove.length > 0;
  return { ...steps, condemned, remove: busy ? remove : nextUpdates(view, byOrdinal) };
}

/** How many of a set may be unavailable while it is updated: at least one. */
function maxUnavailableOf(set: StatefulSet): number {
  const { maxUnavailable = 1 } = set.spec?.updateStrategy?.rollingUpdate ?? {};
  return Math.max(1, scaledValue(maxUnavailable, replicasOf(set), false));
}

/** From the highest, as many as may be unavailable and are not yet. */
function nextUpdates(view: StatefulView, byOrdinal: ReadonlyMap<number, Pod>): Pod[] {
  const { set } = view;
  if (!isRolling(set)) return [];
  const first = startOf(set);
  const end = first + replicasOf(set);
  const isCounted = (pod: Pod): boolean => ordinalOf(set, pod) >= first && ordinalOf(set, pod) < end;
  const up = view.pods.filter((pod) => isCounted(pod) && available(view, pod)).length;
  const room = maxUnavailableOf(set) - (replicasOf(set) - up);
  const chosen: Pod[] = [];
  for (let ordinal = end - 1; ordinal >= first + partitionOf(set) && chosen.length < room; ordinal--) {
    const pod = byOrdinal.get(ordinal);
    if (pod !== undefined && !isPodTerminating(pod) && !isOfRevision(set, pod, view.update.name))
      chosen.push(pod);
  }
  return chosen;
}

export function statefulStatus(view: StatefulView, collisionCount: number | undefined): StatefulSetStatus {
  const { set, pods, current, update } = view;
  const seen = pods.filter((pod) => (pod.status?.phase ?? '') !== '');
  const running = pods.filter((pod) => pod.status?.phase === 'Running' && isPodReady(pod));
  const { minReadySeconds = 0 } = set.spec;
  const created = seen.filter((pod) => !isPodTerminating(pod));
  const countOf = (name: string): number => created.filter((pod) => isOfRevision(set, pod, name)).length;
  const updated = countOf(update.name);
  const isDone =
    isRolling(set) &&
    updated === replicasOf(set) &&
    seen.length === replicasOf(set) &&
    running.length === replicasOf(set);
  return {
    observedGeneration: set.metadata.generation,
    replicas: seen.length,
    readyReplicas: running.length,
    availableReplicas: running.filter((pod) => isPodAvailable(pod, minReadySeconds, view.now)).length,
    currentReplicas: isDone ? updated : countOf(current.name),
    updatedReplicas: updated,
    currentRevision: isDone ? update.name : current.name,
    updateRevision: update.name,
    collisionCount: collisionCount ?? 0,
  };
}
