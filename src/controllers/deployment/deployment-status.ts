// The status of a deployment: counts, Available, Progressing and its deadline.
import type {
  Deployment,
  DeploymentCondition,
  DeploymentStatus,
  ReplicaSet,
} from '../../api/generated/types/apps-v1.ts';
import { findCondition, withConditionLast, withoutCondition } from '../../apimachinery/conditions.ts';
import { rfc3339 } from '../../base/clock.ts';
import { maxUnavailableOf, replicasOf, sumOfAvailable, sumOfReplicas } from './replica-counts.ts';

const noDeadline = 2_147_483_647;
const sum = (list: readonly ReplicaSet[], of: (rs: ReplicaSet) => number | undefined): number =>
  list.reduce((total, rs) => total + (of(rs) ?? 0), 0);

export const hasProgressDeadline = (d: Deployment): boolean =>
  d.spec.progressDeadlineSeconds !== undefined && d.spec.progressDeadlineSeconds !== noDeadline;

export function condition(
  type: string,
  status: string,
  reason: string,
  message: string,
  now: number,
): DeploymentCondition {
  const time = rfc3339(now);
  return { type, status, reason, message, lastUpdateTime: time, lastTransitionTime: time };
}

export interface RolloutView {
  readonly deployment: Deployment;
  readonly all: readonly ReplicaSet[];
  readonly newRS: ReplicaSet | undefined;
  readonly now: number;
}

export function deploymentStatus({ deployment: d, all, newRS, now }: RolloutView): DeploymentStatus {
  const available = sumOfAvailable(all);
  const enough = available >= replicasOf(d) - maxUnavailableOf(d);
  const conditions = withConditionLast(
    d.status?.conditions,
    enough
      ? condition(
          'Available',
          'True',
          'MinimumReplicasAvailable',
          'Deployment has minimum availability.',
          now,
        )
      : condition(
          'Available',
          'False',
          'MinimumReplicasUnavailable',
          'Deployment does not have minimum availability.',
          now,
        ),
  );
  const { collisionCount } = d.status ?? {};
  return {
    observedGeneration: d.metadata.generation,
    replicas: sum(all, (rs) => rs.status?.replicas),
    updatedReplicas: newRS?.status?.replicas ?? 0,
    readyReplicas: sum(all, (rs) => rs.status?.readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, sumOfReplicas(all) - available),
    terminatingReplicas: sum(all, (rs) => rs.status?.terminatingReplicas),
    ...(collisionCount === undefined ? {} : { collisionCount }),
    conditions,
  };
}

export const isComplete = (d: Deployment, status: DeploymentStatus): boolean =>
  (status.updatedReplicas ?? 0) === replicasOf(d) &&
  (status.replicas ?? 0) === replicasOf(d) &&
  (status.availableReplicas ?? 0) === replicasOf(d) &&
  (status.observedGeneration ?? 0) >= (d.metadata.generation ?? 0);

function isProgressing(d: Deployment, status: DeploymentStatus): boolean {
  const old = d.status ?? {};
  const oldOf = (s: DeploymentStatus): number => (s.replicas ?? 0) - (s.updatedReplicas ?? 0);
  return (
    (status.updatedReplicas ?? 0) > (old.updatedReplicas ?? 0) ||
    oldOf(status) < oldOf(old) ||
    (status.readyReplicas ?? 0) > (old.readyReplicas ?? 0) ||
    (status.availableReplicas ?? 0) > (old.availableReplicas ?? 0)
  );
}

function isTimedOut(d: Deployment, status: DeploymentStatus, now: number): boolean {
  const progressing = findCondition(status.conditions, 'Progressing');
  if (!hasProgressDeadline(d) || progressing === undefined) return false;
  if (progressing.reason === 'NewReplicaSetAvailable') return false;
  if (progressing.reason === 'ProgressDeadlineExceeded') return true;
  const since = Date.parse(progressing.lastUpdateTime ?? '') || 0;
  return since + (d.spec.progressDeadlineSeconds ?? 0) * 1000 < now;
}

/** The status with Progressing and ReplicaFailure: how far a rollout is. */
export function rolloutStatus(view: RolloutView): DeploymentStatus {
  const { deployment: d, newRS, all, now } = view;
  const status = deploymentStatus(view);
  const current = findCondition(d.status?.conditions, 'Progressing');
  let conditions: DeploymentCondition[] = status.conditions ?? [];
  if (!hasProgressDeadline(d)) conditions = withoutCondition(conditions, 'Progressing');
  const wasComplete =
    status.replicas === status.updatedReplicas && current?.reason === 'NewReplicaSetAvailable';
  const subject =
    newRS === undefined
      ? `Deployment ${JSON.stringify(d.metadata.name)}`
      : `ReplicaSet ${JSON.stringify(newRS.metadata.name)}`;
  if (hasProgressDeadline(d) && !wasComplete) {
    if (isComplete(d, status)) {
      const message = `${subject} has successfully progressed.`;
      conditions = withConditionLast(
        conditions,
        condition('Progressing', 'True', 'NewReplicaSetAvailable', message, now),
      );
    } else if (isProgressing(d, status)) {
      const next = condition('Progressing', 'True', 'ReplicaSetUpdated', `${subject} is progressing.`, now);
      const lastTransitionTime =
        current?.status === 'True' ? current.lastTransitionTime : next.lastTransitionTime;
      // Each step forward restarts the deadline, though status and reason stay.
      conditions = [...withoutCondition(conditions, 'Progressing'), { ...next, lastTransitionTime }];
    } else if (isTimedOut(d, status, now)) {
      const message = `${subject} has timed out progressing.`;
      conditions = withConditionLast(
        conditions,
        condition('Progressing', 'False', 'ProgressDeadlineExceeded', message, now),
      );
    }
  }
  const failure = [newRS, ...all]
    .map((rs) => findCondition(rs?.status?.conditions, 'ReplicaFailure'))
    .find((found) => found !== undefined);
  conditions =
    failure === undefined
      ? withoutCondition(conditions, 'ReplicaFailure')
      : withConditionLast(conditions, {
          ...condition('ReplicaFailure', failure.status, failure.reason ?? '', failure.message ?? '', now),
        });
  return { ...status, conditions };
}

/** When a rollout that stands still must be looked at again to find that its time is over. */
export function msUntilDeadline(d: Deployment, status: DeploymentStatus, now: number): number | undefined {
  const progressing = findCondition(d.status?.conditions, 'Progressing');
  if (!hasProgressDeadline(d) || progressing === undefined) return undefined;
  if (isComplete(d, status) || progressing.reason === 'ProgressDeadlineExceeded') return undefined;
  const since = Date.parse(progressing.lastUpdateTime ?? '') || now;
  return Math.max(0, since + (d.spec.progressDeadlineSeconds ?? 0) * 1000 - now) + 1000;
}

/** Pausing stops the clock of the deadline; undefined when nothing changes. */
export function pausedCondition(d: Deployment, now: number): DeploymentCondition | undefined {
  const current = findCondition(d.status?.conditions, 'Progressing');
  if (!hasProgressDeadline(d) || current?.reason === 'ProgressDeadlineExceeded') return undefined;
  const wasPaused = current?.reason === 'DeploymentPaused';
  if (d.spec.paused === true && !wasPaused)
    return condition('Progressing', 'Unknown', 'DeploymentPaused', 'Deployment is paused', now);
  if (d.spec.paused !== true && wasPaused)
    return condition('Progressing', 'Unknown', 'DeploymentResumed', 'Deployment is resumed', now);
  return undefined;
}
