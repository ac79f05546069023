// What a DaemonSet's pods should be, as a pure function: nodes that lack one, pods that must go, the rolling update.
import type { DaemonSet, DaemonSetStatus } from '../../api/generated/types/apps-v1.ts';
import type { Node, Pod } from '../../api/generated/types/core-v1.ts';
import { scaledValue } from '../../apimachinery/int-or-string.ts';
import {
  isPodAvailable,
  isPodReady,
  isPodTerminal,
  isPodTerminating,
} from '../../component-helpers/pod-status.ts';
import { daemonSystem, type NodeFit, nodeFit, targetNode } from './node-fit.ts';
import { revisionHashLabel } from './revision-history.ts';
import { templateGeneration, templateGenerationLabel } from './template-generation.ts';

export interface DaemonView {
  readonly ds: DaemonSet;
  readonly nodes: readonly Node[];
  readonly pods: readonly Pod[];
  readonly hash: string;
  readonly now: number;
}

export interface DaemonPlan {
  readonly create: readonly string[];
  readonly remove: readonly Pod[];
  /** Pods that failed and are replaced: their owner says so by an event. */
  readonly failed: readonly Pod[];
}

const createdAt = (pod: Pod): number => Date.parse(pod.metadata.creationTimestamp ?? '') || 0;
/** Those that have a node, then the oldest: upstream's podByCreationTimestampAndPhase. */
const firstOfNode = (a: Pod, b: Pod): number =>
  Number((b.spec.nodeName ?? '') !== '') - Number((a.spec.nodeName ?? '') !== '') ||
  createdAt(a) - createdAt(b) ||
  (a.metadata.name < b.metadata.name ? -1 : 1);

/** By either label: before there were revisions, pods had the template's number alone. */
function isUpdated({ ds, hash }: DaemonView, { metadata }: Pod): boolean {
  const generation = templateGeneration(ds);
  return (
    metadata.labels?.[revisionHashLabel] === hash ||
    (generation !== undefined && metadata.labels?.[templateGenerationLabel] === generation)
  );
}

function podsByNode(pods: readonly Pod[]): Map<string, Pod[]> {
  const result = new Map<string, Pod[]>();
  for (const pod of pods) {
    const node = targetNode(pod);
    // One that ended and is being deleted is in nobody's way, whatever keeps it.
    if (node === undefined || (isPodTerminating(pod) && isPodTerminal(pod))) continue;
    const list = result.get(node);
    if (list === undefined) result.set(node, [pod]);
    else list.push(pod);
  }
  return result;
}

const isAvailable = (view: DaemonView, pod: Pod): boolean =>
  isPodAvailable(pod, view.ds.spec.minReadySeconds ?? 0, view.now);
const rolling = (ds: DaemonSet): boolean =>
  (ds.spec.updateStrategy?.type ?? 'RollingUpdate') === 'RollingUpdate';
/** One answer for each node, in the order of the nodes. */
function fits(view: DaemonView): readonly (readonly [Node, NodeFit])[] {
  const system = daemonSystem(view.ds, view.nodes);
  return view.nodes.map((node) => [node, nodeFit(view.ds, node, system)] as const);
}
const desiredCount = (view: DaemonView): number => fits(view).filter(([, fit]) => fit.shouldRun).length;
const limitOf = (view: DaemonView, field: 'maxSurge' | 'maxUnavailable'): number => {
  const value = view.ds.spec.updateStrategy?.rollingUpdate?.[field] ?? (field === 'maxSurge' ? 0 : 1);
  return scaledValue(value, desiredCount(view), true);
};
const maxSurgeOf = (view: DaemonView): number => (rolling(view.ds) ? limitOf(view, 'maxSurge') : 0);
/** Both zero would let no update ever begin. */
function maxUnavailableOf(view: DaemonView): number {
  const unavailable = limitOf(view, 'maxUnavailable');
  return unavailable === 0 && maxSurgeOf(view) === 0 ? 1 : unavailable;
}

/** The pods of one node that should be there beyond one are the younger ones. */
function surplus(view: DaemonView, running: readonly Pod[]): Pod[] {
  if (running.length <= 1) return [];
  const sorted = [...running].sort(firstOfNode);
  if (maxSurgeOf(view) === 0) return sorted.slice(1);
  // While surging, an old pod that works stays until the new one beside it is available.
  const [old, ...olds] = sorted.filter((pod) => !isUpdated(view, pod));
  const [updated, ...updates] = sorted.filter((pod) => isUpdated(view, pod));
  const isReplaced =
    old !== undefined && updated !== undefined && (!isPodReady(old) || isAvailable(view, updated));
  return [...(isReplaced ? [old] : []), ...olds, ...updates];
}

export function daemonPlan(view: DaemonView): DaemonPlan {
  const byNode = podsByNode(view.pods);
  const create: string[] = [];
  const remove: Pod[] = [];
  const failed: Pod[] = [];
  const known = new Set(view.nodes.map((node) => node.metadata.name));
  for (const [node, { shouldRun, shouldContinueRunning }] of fits(view)) {
    const { name } = node.metadata;
    const mine = byNode.get(name) ?? [];
    const alive = mine.filter((pod) => !isPodTerminating(pod));
    if (shouldRun && mine.length === 0) create.push(name);
    else if (!shouldContinueRunning) remove.push(...alive);
    else {
      const dead = alive.filter((pod) => pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded');
      failed.push(...dead);
      remove.push(...dead);
      remove.push(
        ...surplus(
          view,
          alive.filter((pod) => !dead.includes(pod)),
        ),
      );
    }
  }
  // A pod that waits for a node that is gone will wait for ever.
  for (const [name, mine] of byNode)
    if (!known.has(name))
      remove.push(...mine.filter((pod) => !isPodTerminating(pod) && (pod.spec.nodeName ?? '') === ''));
  return { create, remove, failed };
}

/** The next step of a rolling update: old pods that may go now, nodes that may get a second pod. */
export function updatePlan(view: DaemonView): DaemonPlan {
  const byNode = podsByNode(view.pods);
  const old: Pod[] = [];
  const oldUnavailable: Pod[] = [];
  const surge: string[] = [];
  let unavailable = 0;
  let surging = 0;
  for (const [node, { shouldRun }] of fits(view)) {
    if (!shouldRun) continue;
    const alive = (byNode.get(node.metadata.name) ?? []).filter((pod) => !isPodTerminating(pod));
    const oldPod = alive.find((pod) => !isUpdated(view, pod));
    const newPod = alive.find((pod) => isUpdated(view, pod));
    if (!alive.some((pod) => isAvailable(view, pod))) unavailable += 1;
    if (oldPod !== undefined && newPod !== undefined) {
      if (isAvailable(view, newPod)) old.push(oldPod);
      else surging += 1;
    } else if (oldPod !== undefined) {
      if (!isAvailable(view, oldPod)) oldUnavailable.push(oldPod);
      else if (maxSurgeOf(view) > 0) surge.push(node.metadata.name);
      else old.push(oldPod);
    }
  }
  if (maxSurgeOf(view) > 0) {
    const room = Math.max(0, maxSurgeOf(view) - surging);
    // Beside a pod that does not work anyway another is made at once.
    const beside = oldUnavailable.flatMap((pod) => targetNode(pod) ?? []);
    return { create: [...beside, ...surge.slice(0, room)], remove: old, failed: [] };
  }
  // Pods that do not work anyway cost no availability.
  const room = Math.max(0, maxUnavailableOf(view) - unavailable);
  return { create: [], remove: [...oldUnavailable, ...old.slice(0, room)], failed: [] };
}

export function daemonStatus(view: DaemonView, collisionCount: number | undefined): DaemonSetStatus {
  const byNode = podsByNode(view.pods);
  const counts = { desired: 0, current: 0, misscheduled: 0, ready: 0, updated: 0, available: 0 };
  for (const [node, { shouldRun }] of fits(view)) {
    const mine = (byNode.get(node.metadata.name) ?? []).sort(firstOfNode);
    if (!shouldRun) {
      if (mine.length > 0) counts.misscheduled += 1;
      continue;
    }
    counts.desired += 1;
    // Of two on a node the older one counts: it goes when the newer one is available.
    const [first] = mine;
    if (first === undefined) continue;
    counts.current += 1;
    if (isPodReady(first)) {
      counts.ready += 1;
      if (isAvailable(view, first)) counts.available += 1;
    }
    if (isUpdated(view, first)) counts.updated += 1;
  }
  const conditions = view.ds.status?.conditions;
  return {
    observedGeneration: view.ds.metadata.generation,
    desiredNumberScheduled: counts.desired,
    currentNumberScheduled: counts.current,
    numberMisscheduled: counts.misscheduled,
    numberReady: counts.ready,
    updatedNumberScheduled: counts.updated,
    numberAvailable: counts.available,
    numberUnavailable: counts.desired - counts.available,
    ...(collisionCount === undefined ? {} : { collisionCount }),
    ...(conditions === undefined ? {} : { conditions }),
  };
}
