// Deployment, ReplicaSet, StatefulSet and DaemonSet.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, required } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import {
  changedFields,
  nonNegative,
  oneOf,
  optional,
  unchanged,
} from '../../../apimachinery/validation/checks.ts';
import { dnsLabel } from '../../../apimachinery/validation/names.ts';
import { validateClaimSpec } from '../../core/v1/validate-claims.ts';
import {
  intOrPercent,
  isZeroCount,
  replicasErrors,
  validateSelectorAndTemplate,
} from '../../core/v1/validate-workload.ts';
import type {
  ControllerRevision,
  DaemonSet,
  Deployment,
  ReplicaSet,
  RollingUpdateStatefulSetStrategy,
  StatefulSet,
} from '../../generated/types/apps-v1.ts';
import type { LabelSelector } from '../../generated/types/meta-v1.ts';

export function validateDeployment(deployment: Decoded<Deployment>): Errors {
  const s = deployment.spec ?? {};
  const errors = [...validateSelectorAndTemplate(deployment, 'deployment'), ...replicasErrors(deployment)];
  const strategy = s.strategy ?? {};
  const rolling = strategy.rollingUpdate;
  const at = 'spec.strategy';
  errors.push(...oneOf(`${at}.type`, strategy.type, ['Recreate', 'RollingUpdate']));
  if (strategy.type === 'Recreate' && rolling !== undefined)
    errors.push(forbidden(`${at}.rollingUpdate`, "may not be specified when strategy `type` is 'Recreate'"));
  if (strategy.type === 'RollingUpdate') {
    const { maxUnavailable, maxSurge } = rolling ?? {};
    errors.push(
      ...intOrPercent(`${at}.rollingUpdate.maxUnavailable`, maxUnavailable, true),
      ...intOrPercent(`${at}.rollingUpdate.maxSurge`, maxSurge),
    );
    if (isZeroCount(maxUnavailable) && isZeroCount(maxSurge))
      errors.push(
        invalid(
          `${at}.rollingUpdate.maxUnavailable`,
          maxUnavailable ?? 0,
          'may not be 0 when `maxSurge` is 0',
        ),
      );
  }
  const deadline = s.progressDeadlineSeconds;
  if (deadline !== undefined) {
    errors.push(...nonNegative('spec.progressDeadlineSeconds', deadline));
    if ((deadline ?? 0) <= (s.minReadySeconds ?? 0))
      errors.push(invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds'));
  }
  return errors;
}

export const validateReplicaSet = (replicaSet: Decoded<ReplicaSet>): Errors => [
  ...replicasErrors(replicaSet),
  ...validateSelectorAndTemplate(replicaSet, 'deployment'),
];

/** Selectors never change. */
type WithSelector = Decoded<{ spec: { selector: LabelSelector } }>;
export const selectorStays = (object: WithSelector, old: WithSelector): Errors =>
  unchanged('spec.selector', object.spec?.selector, old.spec?.selector);

export function validateStatefulSet(statefulSet: Decoded<StatefulSet>): Errors {
  const s = statefulSet.spec ?? {};
  const errors: Errors = [];
  const management = s.podManagementPolicy ?? '';
  if (management !== 'OrderedReady' && management !== 'Parallel')
    errors.push(invalid('spec.podManagementPolicy', management, "must be 'OrderedReady' or 'Parallel'"));
  const strategy = s.updateStrategy ?? {};
  if (!strategy.type) errors.push(required('spec.updateStrategy'));
  else if (strategy.type === 'OnDelete' && strategy.rollingUpdate !== undefined)
    errors.push(
      invalid(
        'spec.updateStrategy.rollingUpdate',
        strategy.rollingUpdate,
        "only allowed for updateStrategy 'RollingUpdate'",
      ),
    );
  else if (strategy.type === 'RollingUpdate')
    errors.push(...rollingErrors(strategy.rollingUpdate ?? {}, 'spec.updateStrategy.rollingUpdate'));
  else if (strategy.type !== 'OnDelete')
    errors.push(invalid('spec.updateStrategy', strategy, "must be 'RollingUpdate' or 'OnDelete'"));
  const retention = s.persistentVolumeClaimRetentionPolicy;
  for (const when of ['whenDeleted', 'whenScaled'] as const)
    if (retention !== undefined)
      errors.push(
        ...oneOf(`spec.persistentVolumeClaimRetentionPolicy.${when}`, retention[when], ['Delete', 'Retain']),
      );
  return [
    ...errors,
    ...replicasErrors(statefulSet, 'statefulset'),
    ...nonNegative('spec.ordinals.start', s.ordinals?.start),
    ...optional('spec.serviceName', s.serviceName, dnsLabel),
    ...validateSelectorAndTemplate(statefulSet, 'statefulset'),
    ...(s.volumeClaimTemplates ?? []).flatMap((claim, i) =>
      validateClaimSpec(claim.spec ?? {}, `spec.volumeClaimTemplates[${i}].spec`),
    ),
  ];
}

function rollingErrors(rolling: Decoded<RollingUpdateStatefulSetStrategy>, at: string): Errors {
  const { partition, maxUnavailable } = rolling;
  const field = `${at}.maxUnavailable`;
  return [
    ...nonNegative(`${at}.partition`, partition),
    ...intOrPercent(field, maxUnavailable, true),
    ...(maxUnavailable !== undefined && isZeroCount(maxUnavailable)
      ? [invalid(field, maxUnavailable, 'cannot be 0')]
      : []),
  ];
}

const mutable = new Set([
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
]);

export function validateStatefulSetUpdate(
  statefulSet: Decoded<StatefulSet>,
  old: Decoded<StatefulSet>,
): Errors {
  const changed = changedFields(statefulSet.spec ?? {}, old.spec ?? {}).some((k) => !mutable.has(k));
  return changed
    ? [
        forbidden(
          'spec',
          "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ),
      ]
    : [];
}

export function validateDaemonSet(daemonSet: Decoded<DaemonSet>): Errors {
  const errors = [...validateSelectorAndTemplate(daemonSet, 'daemonset'), ...replicasErrors(daemonSet)];
  const strategy = daemonSet.spec?.updateStrategy ?? {};
  const at = 'spec.updateStrategy';
  errors.push(...oneOf(`${at}.type`, strategy.type, ['OnDelete', 'RollingUpdate']));
  if (strategy.type === 'RollingUpdate') {
    const rolling = strategy.rollingUpdate;
    if (rolling === undefined) return [...errors, required(`${at}.rollingUpdate`)];
    errors.push(
      ...intOrPercent(`${at}.rollingUpdate.maxUnavailable`, rolling.maxUnavailable, true),
      ...intOrPercent(`${at}.rollingUpdate.maxSurge`, rolling.maxSurge, true),
    );
    const [none, noSurge] = [isZeroCount(rolling.maxUnavailable), isZeroCount(rolling.maxSurge)];
    if (none && noSurge)
      errors.push(required(`${at}.rollingUpdate.maxUnavailable`, 'cannot be 0 when maxSurge is 0'));
    if (!none && !noSurge)
      errors.push(
        invalid(
          `${at}.rollingUpdate.maxSurge`,
          rolling.maxSurge,
          'may not be set when maxUnavailable is non-zero',
        ),
      );
  }
  return errors;
}

export function validateControllerRevision(revision: Decoded<ControllerRevision>): Errors {
  const errors: Errors =
    revision.data === undefined && (revision.metadata?.name ?? '') !== ''
      ? [required('data', 'data is mandatory')]
      : [];
  return [...errors, ...nonNegative('revision', revision.revision)];
}
export const validateControllerRevisionUpdate = (
  revision: Decoded<ControllerRevision>,
  old: Decoded<ControllerRevision>,
): Errors => unchanged('data', revision.data, old.data);
