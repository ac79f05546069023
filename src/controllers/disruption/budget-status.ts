// The status of a disruption budget: how many of its pods may be away now. Pure.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { Condition } from '../../api/generated/types/meta-v1.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '../../api/generated/types/policy-v1.ts';
import { scaledValue } from '../../apimachinery/int-or-string.ts';
import { matchesObject } from '../../apimachinery/label-selector.ts';
import { rfc3339 } from '../../base/clock.ts';
import { isPodReady, isPodTerminating } from '../../component-helpers/pod-status.ts';

/** An eviction that was allowed and after so long did not lead to a deletion counts no more. */
const evictionTimeoutMs = 2 * 60_000;

/** A budget without a selector is for no pod, one with an empty selector for all. */
export const isBudgetOf = (budget: PodDisruptionBudget, pod: Pod): boolean =>
  budget.metadata.namespace === pod.metadata.namespace &&
  matchesObject(budget.spec.selector, pod.metadata.labels);

/** Whether the owners of the pods must be asked how many there should be. */
export const needsScale = ({ spec }: PodDisruptionBudget): boolean =>
  spec.maxUnavailable !== undefined || typeof spec.minAvailable === 'string';

export interface BudgetObservation {
  readonly pods: readonly Pod[];
  /** Sum of what the owners of the pods ask for; used when `needsScale`. */
  readonly scale: number;
  readonly now: number;
}

export interface BudgetOutcome {
  readonly status: PodDisruptionBudgetStatus;
  /** When an eviction that goes on now will count no more. */
  readonly recheckAt: number | undefined;
  /** Pods that were to be deleted and were not. */
  readonly notDeleted: readonly Pod[];
}

function wanted({ spec }: PodDisruptionBudget, pods: number, scale: number): [number, number] {
  if (spec.maxUnavailable !== undefined)
    return [scale, Math.max(0, scale - scaledValue(spec.maxUnavailable, scale, true))];
  if (spec.minAvailable === undefined) return [0, 0];
  return typeof spec.minAvailable === 'number'
    ? [pods, spec.minAvailable]
    : [scale, scaledValue(spec.minAvailable, scale, true)];
}

/** As apimachinery's SetStatusCondition: the time moves only with the status. */
export function withAllowed(
  budget: PodDisruptionBudget,
  allowed: Pick<Condition, 'status' | 'reason' | 'message'>,
  now: number,
): Condition[] {
  const type = 'DisruptionAllowed';
  const conditions = budget.status?.conditions ?? [];
  const old = conditions.find((condition) => condition.type === type);
  const next: Condition = {
    type,
    ...allowed,
    observedGeneration: budget.metadata.generation,
    lastTransitionTime: old?.status === allowed.status ? old.lastTransitionTime : rfc3339(now),
  };
  return old === undefined ? [...conditions, next] : conditions.map((c) => (c === old ? next : c));
}

export function budgetStatus(
  budget: PodDisruptionBudget,
  { pods, scale, now }: BudgetObservation,
): BudgetOutcome {
  const leaving = new Map<string, string>();
  const notDeleted: Pod[] = [];
  let recheckAt: number | undefined;
  for (const pod of pods) {
    const since = Object.entries(budget.status?.disruptedPods ?? {}).find(
      ([name]) => name === pod.metadata.name,
    )?.[1];
    if (since === undefined || isPodTerminating(pod)) continue;
    const until = Date.parse(since) + evictionTimeoutMs;
    if (until < now) notDeleted.push(pod);
    else {
      leaving.set(pod.metadata.name, since);
      recheckAt = Math.min(recheckAt ?? until, until);
    }
  }
  const currentHealthy = pods.filter(
    (pod) => !isPodTerminating(pod) && !leaving.has(pod.metadata.name) && isPodReady(pod),
  ).length;
  const [expectedPods, desiredHealthy] = wanted(budget, pods.length, scale);
  // With no pods none may go: the first ones come before this is calculated again.
  const disruptionsAllowed = expectedPods <= 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy);
  const [status, reason] =
    disruptionsAllowed > 0 ? ['True', 'SufficientPods'] : ['False', 'InsufficientPods'];
  return {
    status: {
      ...(leaving.size === 0 ? {} : { disruptedPods: Object.fromEntries(leaving) }),
      currentHealthy,
      desiredHealthy,
      disruptionsAllowed,
      expectedPods,
      observedGeneration: budget.metadata.generation,
      conditions: withAllowed(budget, { status, reason, message: '' }, now),
    },
    recheckAt,
    notDeleted,
  };
}
