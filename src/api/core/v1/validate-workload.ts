// What all workloads share: a selector that takes its template's labels, and a pod template.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import { forbidden, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import { isPercent } from '../../../apimachinery/int-or-string.ts';
import { nameOf, num, obj, objs, spec, str } from '../../../apimachinery/json-access.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import {
  isEmptySelector,
  labelSelector,
  labels,
  nonNegative,
  selects,
} from '../../../apimachinery/validation/checks.ts';
import { podAnnotations } from './validate-pod-annotations.ts';
import { validatePodSpec } from './validate-pod-spec.ts';

export function validateTemplate(template: JsonObject, at: string, claims: readonly string[] = []): Errors {
  const errors = [
    ...labels(`${at}.metadata.labels`, obj(template['metadata'])['labels']),
    ...podAnnotations(
      obj(obj(template['metadata'])['annotations']),
      obj(template['spec']),
      `${at}.annotations`,
    ),
    ...validatePodSpec(obj(template['spec']), `${at}.spec`, claims),
  ];
  if (Array.isArray(obj(template['spec'])['ephemeralContainers']))
    errors.push(
      forbidden(`${at}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template'),
    );
  return errors;
}

/** Selector, template and that they fit; `kind` is upstream's word in the messages. */
export function validateSelectorAndTemplate(object: JsonObject, kind: string, alwaysRestart = true): Errors {
  const s = spec(object);
  const errors: Errors = [];
  const selector = s['selector'];
  if (selector === undefined) errors.push(required('spec.selector'));
  else {
    errors.push(...labelSelector('spec.selector', selector));
    if (isEmptySelector(selector))
      errors.push(invalid('spec.selector', selector, `empty selector is invalid for ${kind}`));
  }
  const template = obj(s['template']);
  const templateLabels = obj(template['metadata'])['labels'];
  if (selector !== undefined && !isEmptySelector(selector) && selects(selector, templateLabels) === false)
    errors.push(
      invalid(
        'spec.template.metadata.labels',
        templateLabels ?? null,
        '`selector` does not match template `labels`',
      ),
    );
  const claims = objs(s['volumeClaimTemplates']).map((claim) => nameOf(claim));
  errors.push(...validateTemplate(template, 'spec.template', claims));
  const podSpec = obj(template['spec']);
  if (alwaysRestart && str(podSpec['restartPolicy']) !== 'Always')
    errors.push(notSupported('spec.template.spec.restartPolicy', podSpec['restartPolicy'] ?? '', ['Always']));
  if (alwaysRestart && podSpec['activeDeadlineSeconds'] !== undefined)
    errors.push(
      forbidden(
        'spec.template.spec.activeDeadlineSeconds',
        `activeDeadlineSeconds in ${kindNames[kind] ?? kind} is not Supported`,
      ),
    );
  return errors;
}
const kindNames: Readonly<Record<string, string>> = {
  daemonset: 'DaemonSet',
  deployment: 'ReplicaSet',
  statefulset: 'StatefulSet',
};

export const replicasErrors = (object: JsonObject): Errors => [
  ...nonNegative('spec.replicas', spec(object)['replicas']),
  ...nonNegative('spec.minReadySeconds', spec(object)['minReadySeconds']),
  ...nonNegative('spec.revisionHistoryLimit', spec(object)['revisionHistoryLimit']),
];

const percentFormat =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
/** A count or a percentage that is not negative and, where `max100`, not over the whole. */
export function intOrPercent(field: string, value: Json | undefined, max100 = false): Errors {
  if (typeof value === 'number') return nonNegative(field, value);
  if (typeof value !== 'string') return [];
  if (!isPercent(value)) return [invalid(field, value, percentFormat)];
  return max100 && num(Number(value.slice(0, -1))) > 100
    ? [invalid(field, value, 'must not be greater than 100%')]
    : [];
}
export const isZero = (value: Json | undefined): boolean =>
  value === 0 || value === '0%' || value === undefined;
