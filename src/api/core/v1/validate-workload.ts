// What all workloads share: a selector that takes its template's labels, and a pod template.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import { type IntOrString, isPercent } from '../../../apimachinery/int-or-string.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import {
  isEmptySelector,
  labelSelector,
  labels,
  nonNegative,
  selects,
} from '../../../apimachinery/validation/checks.ts';
import type { PersistentVolumeClaim, PodSpec, PodTemplateSpec } from '../../generated/types/core-v1.ts';
import type { LabelSelector } from '../../generated/types/meta-v1.ts';
import { podAnnotations } from './validate-pod-annotations.ts';
import { validatePodSpec } from './validate-pod-spec.ts';

export function validateTemplate(
  template: Decoded<PodTemplateSpec>,
  at: string,
  claims: readonly string[] = [],
): Errors {
  const errors = [
    ...labels(`${at}.metadata.labels`, template.metadata?.labels),
    ...podAnnotations(template.metadata?.annotations ?? {}, template.spec ?? {}, `${at}.annotations`),
    ...validatePodSpec(template.spec ?? {}, `${at}.spec`, claims),
  ];
  if (template.spec?.ephemeralContainers !== undefined)
    errors.push(
      forbidden(`${at}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template'),
    );
  return errors;
}

/** What workloads have in common. */
type Workload = Decoded<{
  spec: {
    replicas?: number;
    minReadySeconds?: number;
    revisionHistoryLimit?: number;
    selector: LabelSelector;
    template: PodTemplateSpec;
    volumeClaimTemplates?: PersistentVolumeClaim[];
  };
}>;

/** Selector, template and that they fit; `kind` is upstream's word in the messages. */
export function validateSelectorAndTemplate({ spec: s = {} }: Workload, kind: string): Errors {
  const errors: Errors = [];
  const selector = s.selector;
  if (selector === undefined) errors.push(required('spec.selector'));
  else {
    errors.push(...labelSelector('spec.selector', selector));
    if (isEmptySelector(selector))
      errors.push(invalid('spec.selector', selector, `empty selector is invalid for ${kind}`));
  }
  const template = s.template ?? {};
  const templateLabels = template.metadata?.labels;
  if (selector !== undefined && !isEmptySelector(selector) && selects(selector, templateLabels) === false)
    errors.push(
      invalid(
        'spec.template.metadata.labels',
        templateLabels ?? null,
        '`selector` does not match template `labels`',
      ),
    );
  const claims = (s.volumeClaimTemplates ?? []).map((claim) => claim.metadata?.name ?? '');
  errors.push(...validateTemplate(template, 'spec.template', claims));
  const podSpec: Decoded<PodSpec> = template.spec ?? {};
  if (podSpec.restartPolicy !== 'Always')
    errors.push(notSupported('spec.template.spec.restartPolicy', podSpec.restartPolicy ?? '', ['Always']));
  if (podSpec.activeDeadlineSeconds !== undefined)
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

/** A StatefulSet with a negative limit keeps all: upstream warns of it only. */
export const replicasErrors = ({ spec }: Workload, kind = ''): Errors => [
  ...nonNegative('spec.replicas', spec?.replicas),
  ...nonNegative('spec.minReadySeconds', spec?.minReadySeconds),
  ...(kind === 'statefulset' ? [] : nonNegative('spec.revisionHistoryLimit', spec?.revisionHistoryLimit)),
];

const percentFormat =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
/** A count or a percentage that is not negative and, where `max100`, not over the whole. */
export function intOrPercent(field: string, value: IntOrString | undefined, max100 = false): Errors {
  if (typeof value === 'number') return nonNegative(field, value);
  if (value === undefined) return [];
  if (!isPercent(value)) return [invalid(field, value, percentFormat)];
  return max100 && Number(value.slice(0, -1)) > 100
    ? [invalid(field, value, 'must not be greater than 100%')]
    : [];
}
export const isZeroCount = (value: IntOrString | undefined): boolean =>
  value === 0 || value === '0%' || value === undefined;
