// What the statuses of workloads may say.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { invalid } from '../../../apimachinery/field-error.ts';
import { type Errors, nonNegative } from '../../../apimachinery/validation/checks.ts';
import { replicaCountErrors } from '../../core/v1/validate-statuses.ts';
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from '../../generated/types/apps-v1.ts';

interface Collided {
  readonly status?: { readonly collisionCount?: number | undefined } | undefined;
}

/** Names are made of it: a smaller one would make one again that is taken. */
function collisionErrors(object: Collided, old: Collided): Errors {
  const count = object.status?.collisionCount;
  const before = old.status?.collisionCount;
  return before !== undefined && (count ?? 0) < before
    ? [invalid('status.collisionCount', count ?? 0, 'cannot be decremented')]
    : [];
}

export const validateDeploymentStatus = (o: Decoded<Deployment>, old: Decoded<Deployment>): Errors => [
  ...replicaCountErrors(
    o.status ?? {},
    [
      'observedGeneration',
      'replicas',
      'updatedReplicas',
      'readyReplicas',
      'availableReplicas',
      'unavailableReplicas',
      'terminatingReplicas',
      'collisionCount',
    ],
    ['updatedReplicas', 'readyReplicas', 'availableReplicas'],
  ),
  ...collisionErrors(o, old),
];

export const validateReplicaSetStatus = (o: Decoded<ReplicaSet>): Errors =>
  replicaCountErrors(
    o.status ?? {},
    [
      'replicas',
      'fullyLabeledReplicas',
      'readyReplicas',
      'availableReplicas',
      'observedGeneration',
      'terminatingReplicas',
    ],
    ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'],
  );

export const validateStatefulSetStatus = (o: Decoded<StatefulSet>, old: Decoded<StatefulSet>): Errors => [
  ...replicaCountErrors(
    o.status ?? {},
    [
      'replicas',
      'readyReplicas',
      'currentReplicas',
      'updatedReplicas',
      'availableReplicas',
      'observedGeneration',
      'collisionCount',
    ],
    ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'],
    'status.readyReplicas',
  ),
  ...collisionErrors(o, old),
];

const scheduled = [
  'currentNumberScheduled',
  'numberMisscheduled',
  'desiredNumberScheduled',
  'numberReady',
  'observedGeneration',
  'updatedNumberScheduled',
  'numberAvailable',
  'numberUnavailable',
  'collisionCount',
] as const;

export const validateDaemonSetStatus = (o: Decoded<DaemonSet>, old: Decoded<DaemonSet>): Errors => [
  ...scheduled.flatMap((name) => nonNegative(`status.${name}`, o.status?.[name])),
  ...collisionErrors(o, old),
];
