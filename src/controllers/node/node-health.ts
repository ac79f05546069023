// What follows from a node's silence: conditions and taints, as pure functions.
import type { Node, NodeCondition, Taint } from '../../api/generated/types/core-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import { rfc3339 } from '../../base/clock.ts';
import { sameTaint } from '../../component-helpers/taints.ts';

/**
 * The last time a node was heard of, by the controller's own clock that never goes back: those of nodes may be wrong, and
 * when somebody sets the machine's, no node has been silent for longer.
 */
export interface NodeHealth {
  readonly heartbeat: string | undefined;
  readonly renewTime: string | undefined;
  readonly heardAt: number;
}

export interface NodeLifecycleTimes {
  readonly monitorGracePeriodMs: number;
  readonly startupGracePeriodMs: number;
}

/** As upstream's defaults: longer than a client needs to notice that its connection is dead. */
export const usualNodeTimes: NodeLifecycleTimes = {
  monitorGracePeriodMs: 50_000,
  startupGracePeriodMs: 60_000,
};

const prefix = 'node.kubernetes.io';
const watchedConditions = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];
const createdAt = (node: Node): number => Date.parse(node.metadata.creationTimestamp ?? '') || 0;

export function nodeHealth(
  node: Node,
  renewTime: string | undefined,
  before: NodeHealth | undefined,
  now: number,
  /** The wall's time at `now`: when a node was made is told by it. */
  wall: number = now,
): NodeHealth {
  const ready = findCondition(node.status?.conditions, 'Ready');
  // Unknown is our own word; the node said nothing.
  const heartbeat =
    ready === undefined
      ? undefined
      : ready.status === 'Unknown'
        ? before?.heartbeat
        : (ready.lastHeartbeatTime ?? '');
  if (before === undefined) {
    const isUnheard = ready === undefined && renewTime === undefined;
    const heardAt = isUnheard ? now - Math.max(0, wall - createdAt(node)) : now;
    return { heartbeat, renewTime, heardAt };
  }
  const isNews = heartbeat !== before.heartbeat || renewTime !== before.renewTime;
  return isNews ? { heartbeat, renewTime, heardAt: now } : before;
}

/** When it will have been silent for too long. */
export const silentAt = (node: Node, health: NodeHealth, times: NodeLifecycleTimes): number =>
  health.heardAt +
  (findCondition(node.status?.conditions, 'Ready') === undefined
    ? times.startupGracePeriodMs
    : times.monitorGracePeriodMs);

/** Conditions of a node that was silent for too long; undefined when nothing changes. */
export function unknownConditions(node: Node, now: number): NodeCondition[] | undefined {
  const conditions = node.status?.conditions ?? [];
  const time = rfc3339(now);
  let changed = false;
  const result = conditions.map((condition) => {
    if (!watchedConditions.includes(condition.type) || condition.status === 'Unknown') return condition;
    changed = true;
    return {
      ...condition,
      status: 'Unknown',
      reason: 'NodeStatusUnknown',
      message: 'Kubelet stopped posting node status.',
      lastTransitionTime: time,
    };
  });
  for (const type of watchedConditions) {
    if (findCondition(conditions, type) !== undefined) continue;
    changed = true;
    result.push({
      type,
      status: 'Unknown',
      reason: 'NodeStatusNeverUpdated',
      message: 'Kubelet never posted node status.',
      lastHeartbeatTime: node.metadata.creationTimestamp,
      lastTransitionTime: time,
    });
  }
  return changed ? result : undefined;
}

const noScheduleByCondition: readonly (readonly [type: string, status: string, key: string])[] = [
  ['Ready', 'False', 'not-ready'],
  ['Ready', 'Unknown', 'unreachable'],
  ['MemoryPressure', 'True', 'memory-pressure'],
  ['DiskPressure', 'True', 'disk-pressure'],
  ['NetworkUnavailable', 'True', 'network-unavailable'],
  ['PIDPressure', 'True', 'pid-pressure'],
];
const ownKeys = new Set([
  ...noScheduleByCondition.map(([, , key]) => `${prefix}/${key}`),
  `${prefix}/unschedulable`,
]);
const isEvicting = ({ key, effect }: Taint): boolean =>
  effect === 'NoExecute' && (key === `${prefix}/not-ready` || key === `${prefix}/unreachable`);
const isOwn = (taint: Taint): boolean =>
  (taint.effect === 'NoSchedule' && ownKeys.has(taint.key)) || isEvicting(taint);

/** Whether pods are evicted from it already. */
export const hasEvictionTaint = (node: Node): boolean => (node.spec?.taints ?? []).some(isEvicting);

/** Taints as they should be; undefined when they are. `mayEvict` is false until it is the node's turn (`ZoneEvictions`). */
export function desiredTaints(node: Node, mayEvict: boolean, now: number): Taint[] | undefined {
  const conditions = node.status?.conditions;
  const wanted: Taint[] = [];
  for (const [type, status, key] of noScheduleByCondition)
    if (findCondition(conditions, type)?.status === status)
      wanted.push({ key: `${prefix}/${key}`, effect: 'NoSchedule' });
  if (node.spec?.unschedulable === true)
    wanted.push({ key: `${prefix}/unschedulable`, effect: 'NoSchedule' });
  const ready = findCondition(conditions, 'Ready')?.status;
  if (mayEvict && ready === 'False') wanted.push({ key: `${prefix}/not-ready`, effect: 'NoExecute' });
  if (mayEvict && ready === 'Unknown') wanted.push({ key: `${prefix}/unreachable`, effect: 'NoExecute' });

  const current = node.spec?.taints ?? [];
  const kept = current.filter((taint) => !isOwn(taint) || wanted.some((want) => sameTaint(want, taint)));
  const added = wanted.filter((want) => !current.some((taint) => sameTaint(want, taint)));
  if (added.length === 0 && kept.length === current.length) return undefined;
  return [...kept, ...added.map((taint) => ({ ...taint, timeAdded: rfc3339(now) }))];
}
