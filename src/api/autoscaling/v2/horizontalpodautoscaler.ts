// HorizontalPodAutoscalers: kept as v2, served as v1 too (../v1/scaler-conversion.ts).
import type { Json } from '../../../apimachinery/declaration.ts';
import type { Decoded } from '../../../apimachinery/decoded.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import type {
  HorizontalPodAutoscaler,
  HPAScalingPolicy,
  HPAScalingRules,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from '../../generated/types/autoscaling-v2.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';
import {
  validateHorizontalPodAutoscaler,
  validateHorizontalPodAutoscalerUpdate,
} from './validate-horizontalpodautoscaler.ts';

const shownMetrics = 2;
const unknown = '<unknown>';

/** One source of a metric as it is wanted (`target`) or as it was measured (`current`). */
interface MetricPart {
  readonly name?: string | undefined;
  readonly target?: Decoded<MetricTarget> | undefined;
  readonly current?: Decoded<MetricValueStatus> | undefined;
}
/** The part that the type names: `resource` of type Resource. */
function partOf(metric: Decoded<MetricSpec | MetricStatus> | undefined, type: string): MetricPart {
  const parts: Readonly<Record<string, unknown>> = { ...metric };
  return (parts[type.charAt(0).toLowerCase() + type.slice(1)] ?? {}) as MetricPart;
}

function metricText(metric: Decoded<MetricSpec>, current: Decoded<MetricStatus> | undefined): string {
  const type = metric.type ?? '';
  const { name = '', target = {} } = partOf(metric, type);
  const now = partOf(current, type).current ?? {};
  const ofPods = type === 'Resource' || type === 'ContainerResource';
  const label = ofPods ? `${name}: ` : '';
  if (target.averageUtilization !== undefined)
    return `${label}${now.averageUtilization === undefined ? unknown : `${now.averageUtilization}%`}/${target.averageUtilization}%`;
  if (target.averageValue !== undefined)
    return `${label}${now.averageValue ?? unknown}/${target.averageValue}${ofPods || type === 'Pods' ? '' : ' (avg)'}`;
  return `${label}${now.value ?? unknown}/${target.value || '<auto>'}`;
}

function targets(hpa: Decoded<HorizontalPodAutoscaler>): string {
  const metrics = hpa.spec?.metrics ?? [];
  if (metrics.length === 0) return '<none>';
  const current = hpa.status?.currentMetrics ?? [];
  const list = metrics.slice(0, shownMetrics).map((m, i) => metricText(m, current[i]));
  return metrics.length > shownMetrics
    ? `${list.join(', ')} + ${metrics.length - shownMetrics} more...`
    : list.join(', ');
}

const row = (o: Decoded<HorizontalPodAutoscaler>, now: number): Json[] => {
  const target = o.spec?.scaleTargetRef ?? {};
  return [
    nameCell(o),
    `${target.kind ?? ''}/${target.name ?? ''}`,
    targets(o),
    o.spec?.minReplicas === undefined ? '<unset>' : String(o.spec?.minReplicas ?? 0),
    String(o.spec?.maxReplicas ?? 0),
    String(o.status?.currentReplicas ?? 0),
    ageCell(o, now),
  ];
};

const policy = (type: string, value: number, periodSeconds: number): HPAScalingPolicy => ({
  type,
  value,
  periodSeconds,
});

const withDefaults = (
  given: Decoded<HPAScalingRules> | undefined,
  defaults: HPAScalingRules,
): Decoded<HPAScalingRules> => ({
  ...defaults,
  ...given,
  policies: given?.policies?.length ? given.policies : defaults.policies,
});

function applyDefaults(hpa: Decoded<HorizontalPodAutoscaler>): void {
  hpa.spec ??= {};
  const s = hpa.spec;
  s.minReplicas ??= 1;
  if (!s.metrics?.length)
    s.metrics = [
      {
        type: 'Resource',
        resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
      },
    ];
  const { behavior } = s;
  if (behavior === undefined) return;
  behavior.scaleUp = withDefaults(behavior.scaleUp, {
    stabilizationWindowSeconds: 0,
    selectPolicy: 'Max',
    policies: [policy('Pods', 4, 15), policy('Percent', 100, 15)],
  });
  behavior.scaleDown = withDefaults(behavior.scaleDown, {
    selectPolicy: 'Max',
    policies: [policy('Percent', 100, 15)],
  });
}

export const horizontalPodAutoscaler: KindBehaviour<HorizontalPodAutoscaler> = {
  row,
  storage: { group: 'autoscaling', version: 'v2', resource: 'horizontalpodautoscalers' },
  ownUpdateRules: true,
  strategy: {
    applyDefaults,
    validate: validateHorizontalPodAutoscaler,
    validateUpdate: (hpa, old, { subresource }) =>
      validateHorizontalPodAutoscalerUpdate(hpa, old, subresource),
  },
};
