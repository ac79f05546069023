// Deployment, ReplicaSet, StatefulSet and DaemonSet.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { forbidden, invalid, required } from '../../../apimachinery/field-error.ts';
import { isObject, nameOf, num, obj, semanticEqual, spec, str } from '../../../apimachinery/json-access.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { nonNegative, oneOf, unchanged } from '../../../apimachinery/validation/checks.ts';
import {
  intOrPercent,
  isZero,
  replicasErrors,
  validateSelectorAndTemplate,
} from '../../core/v1/validate-workload.ts';

export function validateDeployment(deployment: JsonObject): Errors {
  const s = spec(deployment);
  const errors = [...validateSelectorAndTemplate(deployment, 'deployment'), ...replicasErrors(deployment)];
  const strategy = obj(s['strategy']);
  const rolling = strategy['rollingUpdate'];
  const at = 'spec.strategy';
  errors.push(...oneOf(`${at}.type`, strategy['type'], ['Recreate', 'RollingUpdate']));
  if (strategy['type'] === 'Recreate' && rolling !== undefined)
    errors.push(forbidden(`${at}.rollingUpdate`, "may not be specified when strategy `type` is 'Recreate'"));
  if (strategy['type'] === 'RollingUpdate') {
    const { maxUnavailable, maxSurge } = obj(rolling);
    errors.push(
      ...intOrPercent(`${at}.rollingUpdate.maxUnavailable`, maxUnavailable, true),
      ...intOrPercent(`${at}.rollingUpdate.maxSurge`, maxSurge),
    );
    if (isZero(maxUnavailable) && isZero(maxSurge))
      errors.push(
        invalid(
          `${at}.rollingUpdate.maxUnavailable`,
          maxUnavailable ?? 0,
          'may not be 0 when `maxSurge` is 0',
        ),
      );
  }
  const deadline = s['progressDeadlineSeconds'];
  if (deadline !== undefined) {
    errors.push(...nonNegative('spec.progressDeadlineSeconds', deadline));
    if (num(deadline) <= num(s['minReadySeconds']))
      errors.push(invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds'));
  }
  return errors;
}

export const validateReplicaSet = (replicaSet: JsonObject): Errors => [
  ...replicasErrors(replicaSet),
  ...validateSelectorAndTemplate(replicaSet, 'deployment'),
];

/** Selectors never change. */
export const selectorStays = (object: JsonObject, old: JsonObject): Errors =>
  unchanged('spec.selector', spec(object)['selector'], spec(old)['selector']);

export function validateStatefulSet(statefulSet: JsonObject): Errors {
  const s = spec(statefulSet);
  const errors: Errors = [
    ...oneOf('spec.podManagementPolicy', s['podManagementPolicy'], ['OrderedReady', 'Parallel']),
  ];
  const strategy = obj(s['updateStrategy']);
  if (str(strategy['type']) === '') errors.push(required('spec.updateStrategy'));
  else if (strategy['type'] === 'OnDelete' && isObject(strategy['rollingUpdate']))
    errors.push(
      invalid(
        'spec.updateStrategy.rollingUpdate',
        strategy['rollingUpdate'],
        "only allowed for updateStrategy 'RollingUpdate'",
      ),
    );
  else if (strategy['type'] === 'RollingUpdate')
    errors.push(
      ...nonNegative(
        'spec.updateStrategy.rollingUpdate.partition',
        obj(strategy['rollingUpdate'])['partition'],
      ),
    );
  else if (strategy['type'] !== 'OnDelete')
    errors.push(invalid('spec.updateStrategy', strategy, "must be 'RollingUpdate' or 'OnDelete'"));
  errors.push(...replicasErrors(statefulSet), ...validateSelectorAndTemplate(statefulSet, 'statefulset'));
  errors.push(...nonNegative('spec.ordinals.start', obj(s['ordinals'])['start']));
  return errors;
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

export function validateStatefulSetUpdate(statefulSet: JsonObject, old: JsonObject): Errors {
  const [s, before] = [spec(statefulSet), spec(old)];
  const changed = Object.keys({ ...s, ...before }).some(
    (k) => !mutable.has(k) && !semanticEqual(s[k], before[k]),
  );
  return changed
    ? [
        forbidden(
          'spec',
          "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ),
      ]
    : [];
}

export function validateDaemonSet(daemonSet: JsonObject): Errors {
  const errors = [...validateSelectorAndTemplate(daemonSet, 'daemonset'), ...replicasErrors(daemonSet)];
  const strategy = obj(spec(daemonSet)['updateStrategy']);
  const at = 'spec.updateStrategy';
  errors.push(...oneOf(`${at}.type`, strategy['type'], ['OnDelete', 'RollingUpdate']));
  if (strategy['type'] === 'RollingUpdate') {
    const rolling = strategy['rollingUpdate'];
    if (!isObject(rolling)) return [...errors, required(`${at}.rollingUpdate`)];
    errors.push(
      ...intOrPercent(`${at}.rollingUpdate.maxUnavailable`, rolling['maxUnavailable'], true),
      ...intOrPercent(`${at}.rollingUpdate.maxSurge`, rolling['maxSurge'], true),
    );
    const [none, noSurge] = [isZero(rolling['maxUnavailable']), isZero(rolling['maxSurge'])];
    if (none && noSurge)
      errors.push(required(`${at}.rollingUpdate.maxUnavailable`, 'cannot be 0 when maxSurge is 0'));
    if (!none && !noSurge)
      errors.push(
        invalid(
          `${at}.rollingUpdate.maxSurge`,
          rolling['maxSurge'],
          'may not be set when maxUnavailable is non-zero',
        ),
      );
  }
  return errors;
}

export function validateControllerRevision(revision: JsonObject): Errors {
  const errors: Errors =
    revision['data'] === undefined && nameOf(revision) !== '' ? [required('data', 'data is mandatory')] : [];
  return [...errors, ...nonNegative('revision', revision['revision'])];
}
export const validateControllerRevisionUpdate = (revision: JsonObject, old: JsonObject): Errors =>
  unchanged('data', revision['data'], old['data']);
