// What a HorizontalPodAutoscaler scales, by what it measures, and how fast.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import { tryParseQuantity } from '../../../apimachinery/quantity.ts';
import {
  type Errors,
  each,
  named,
  newErrors,
  nonNegative,
  notNegative,
  oneOf,
} from '../../../apimachinery/validation/checks.ts';
import { dnsLabel, pathSegment } from '../../../apimachinery/validation/names.ts';
import { validateContainerResourceName } from '../../core/v1/validate-resources.ts';
import type {
  CrossVersionObjectReference,
  HorizontalPodAutoscaler,
  HPAScalingPolicy,
  HPAScalingRules,
  MetricIdentifier,
  MetricSpec,
  MetricTarget,
} from '../../generated/types/autoscaling-v2.ts';

const maxPeriodSeconds = 1800;
const maxStabilizationSeconds = 3600;

/** `least`: the fewest replicas that may be asked for. */
function specErrors(hpa: Decoded<HorizontalPodAutoscaler>, least: number): Errors {
  const { minReplicas: min, maxReplicas: max = 0, scaleTargetRef, metrics = [], behavior } = hpa.spec ?? {};
  const errors: Errors = [];
  if (min !== undefined && min < least)
    errors.push(invalid('spec.minReplicas', min, `must be greater than or equal to ${least}`));
  if (max < 1) errors.push(invalid('spec.maxReplicas', max, 'must be greater than 0'));
  if (min !== undefined && max < min)
    errors.push(invalid('spec.maxReplicas', max, 'must be greater than or equal to `minReplicas`'));
  errors.push(...referenceErrors(scaleTargetRef ?? {}, 'spec.scaleTargetRef'));
  metrics.forEach((metric, i) => {
    errors.push(...metricErrors(metric, `spec.metrics[${i}]`));
  });
  if (min === 0 && !metrics.some(({ type }) => type === 'Object' || type === 'External'))
    errors.push(
      forbidden(
        'spec.metrics',
        'must specify at least one Object or External metric to support scaling to zero replicas',
      ),
    );
  for (const direction of ['scaleUp', 'scaleDown'] as const)
    errors.push(...rulesErrors(behavior?.[direction], `spec.behavior.${direction}`));
  return errors;
}

export const validateHorizontalPodAutoscaler = (hpa: Decoded<HorizontalPodAutoscaler>): Errors =>
  specErrors(hpa, 1);

export function validateHorizontalPodAutoscalerUpdate(
  hpa: Decoded<HorizontalPodAutoscaler>,
  old: Decoded<HorizontalPodAutoscaler>,
  subresource: string,
): Errors {
  const counts = ['currentReplicas', 'desiredReplicas'] as const;
  if (subresource === 'status')
    return counts.flatMap((name) => nonNegative(`status.${name}`, hpa.status?.[name]));
  const least = old.spec?.minReplicas === 0 ? 0 : 1;
  return newErrors(specErrors(hpa, least), () => specErrors(old, least));
}

function referenceErrors(
  { kind, name, apiVersion = '' }: Decoded<CrossVersionObjectReference>,
  at: string,
): Errors {
  return [
    ...named(`${at}.kind`, kind, pathSegment),
    ...named(`${at}.name`, name, pathSegment),
    ...each(`${at}.apiVersion`, apiVersion, (version) =>
      version.split('/').length > 2 ? [`unexpected GroupVersion string: ${version}`] : [],
    ),
  ];
}

const positive = (field: string, value: string | number | undefined): Errors =>
  value !== undefined && (tryParseQuantity(value)?.nano ?? 1n) <= 0n
    ? [invalid(field, String(value), 'must be positive')]
    : [];

function targetErrors(target: Decoded<MetricTarget>, at: string): Errors {
  const { type = '', value, averageValue, averageUtilization } = target;
  const errors: Errors = [];
  if (type === '') errors.push(required(`${at}.type`, 'must specify a metric target type'));
  if (type !== 'Utilization' && type !== 'Value' && type !== 'AverageValue')
    errors.push(invalid(`${at}.type`, type, 'must be either Utilization, Value, or AverageValue'));
  errors.push(...positive(`${at}.value`, value), ...positive(`${at}.averageValue`, averageValue));
  if (averageUtilization !== undefined && averageUtilization < 1)
    errors.push(invalid(`${at}.averageUtilization`, averageUtilization, 'must be greater than 0'));
  return errors;
}

const identifierErrors = ({ name = '' }: Decoded<MetricIdentifier>, at: string): Errors =>
  name === ''
    ? [required(`${at}.name`, 'must specify a metric name')]
    : each(`${at}.name`, name, pathSegment);

/** A resource is measured as an amount or as a part of what is asked for, not as both. */
function usageErrors(target: Decoded<MetricTarget> = {}, at: string): Errors {
  const { averageUtilization: part, averageValue: amount } = target;
  const errors = targetErrors(target, at);
  if (part === undefined && amount === undefined)
    errors.push(
      required(`${at}.averageUtilization`, 'must set either a target raw value or a target utilization'),
    );
  if (part !== undefined && amount !== undefined)
    errors.push(
      forbidden(`${at}.averageValue`, 'may not set both a target raw value and a target utilization'),
    );
  return errors;
}

type Source = 'object' | 'external' | 'pods' | 'resource' | 'containerResource';

/** In upstream's order: only the first that is there is looked into. */
const sourceRules: {
  readonly [Kind in Source]: (source: Decoded<NonNullable<MetricSpec[Kind]>>, at: string) => Errors;
} = {
  object({ describedObject = {}, metric = {}, target = {} }, at) {
    const none = target.value === undefined && target.averageValue === undefined;
    return [
      ...referenceErrors(describedObject, `${at}.describedObject`),
      ...identifierErrors(metric, `${at}.metric`),
      ...targetErrors(target, `${at}.target`),
      ...(none
        ? [required(`${at}.target.averageValue`, 'must set either a target value or averageValue')]
        : []),
    ];
  },
  external({ metric = {}, target = {} }, at) {
    const errors = [...identifierErrors(metric, `${at}.metric`), ...targetErrors(target, `${at}.target`)];
    const [whole, each] = [target.value, target.averageValue];
    if (whole === undefined && each === undefined)
      errors.push(
        required(
          `${at}.target.averageValue`,
          'must set either a target value for metric or a per-pod target',
        ),
      );
    if (whole !== undefined && each !== undefined)
      errors.push(
        forbidden(`${at}.target.value`, 'may not set both a target value for metric and a per-pod target'),
      );
    return errors;
  },
  pods: ({ metric = {}, target = {} }, at) => [
    ...identifierErrors(metric, `${at}.metric`),
    ...targetErrors(target, `${at}.target`),
    ...(target.averageValue === undefined
      ? [required(`${at}.target.averageValue`, 'must specify a positive target averageValue')]
      : []),
  ],
  resource: ({ name, target }, at) => [
    ...(name ? [] : [required(`${at}.name`, 'must specify a resource name')]),
    ...usageErrors(target, `${at}.target`),
  ],
  containerResource: ({ name, container, target }, at) => [
    ...(name
      ? validateContainerResourceName(`${at}.name`, name)
      : [required(`${at}.name`, 'must specify a resource name')]),
    ...(container
      ? each(`${at}.container`, container, dnsLabel)
      : [required(`${at}.container`, 'must specify a container')]),
    ...usageErrors(target, `${at}.target`),
  ],
};
const sources = Object.keys(sourceRules) as Source[];
const sourceOfType: Readonly<Record<string, Source | undefined>> = {
  ContainerResource: 'containerResource',
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
};

function metricErrors(metric: Decoded<MetricSpec>, at: string): Errors {
  const type = metric.type ?? '';
  const errors: Errors = type === '' ? [required(`${at}.type`, 'must specify a metric source type')] : [];
  const types = Object.keys(sourceOfType);
  if (!types.includes(type)) errors.push(notSupported(`${at}.type`, type, types));
  const given = sources.filter((source) => metric[source] !== undefined);
  const [first] = given;
  if (first !== undefined) errors.push(...sourceRules[first](metric[first] as never, `${at}.${first}`));
  const expected = types.includes(type) ? sourceOfType[type] : undefined;
  if (expected !== undefined && metric[expected] === undefined)
    errors.push(required(`${at}.${expected}`, 'must populate information for the given metric source'));
  if (given.length !== 1)
    for (const source of given)
      if (source !== expected)
        errors.push(forbidden(`${at}.${source}`, 'must populate the given metric source only'));
  return errors;
}

function rulesErrors(rules: Decoded<HPAScalingRules> | undefined, at: string): Errors {
  if (rules === undefined) return [];
  const { stabilizationWindowSeconds: window, selectPolicy, policies = [], tolerance } = rules;
  const errors: Errors = [];
  const field = `${at}.stabilizationWindowSeconds`;
  if (window !== undefined && window < 0)
    errors.push(invalid(field, window, 'must be greater than or equal to zero'));
  if (window !== undefined && window > maxStabilizationSeconds)
    errors.push(invalid(field, window, `must be less than or equal to ${maxStabilizationSeconds}`));
  if (selectPolicy !== undefined)
    errors.push(...oneOf(`${at}.selectPolicy`, selectPolicy, ['Disabled', 'Max', 'Min']));
  if (policies.length === 0) errors.push(required(`${at}.policies`, 'must specify at least one Policy'));
  policies.forEach((policy, i) => {
    errors.push(...policyErrors(policy, `${at}.policies[${i}]`));
  });
  if ((tryParseQuantity(tolerance)?.nano ?? 0n) < 0n)
    errors.push(invalid(`${at}.tolerance`, String(tolerance), notNegative));
  return errors;
}

function policyErrors(policy: Decoded<HPAScalingPolicy>, at: string): Errors {
  const { type, value = 0, periodSeconds: period = 0 } = policy;
  const errors = oneOf(`${at}.type`, type, ['Percent', 'Pods']);
  if (value <= 0) errors.push(invalid(`${at}.value`, value, 'must be greater than zero'));
  if (period <= 0) errors.push(invalid(`${at}.periodSeconds`, period, 'must be greater than zero'));
  if (period > maxPeriodSeconds)
    errors.push(invalid(`${at}.periodSeconds`, period, `must be less than or equal to ${maxPeriodSeconds}`));
  return errors;
}
