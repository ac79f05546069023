// How many replicas an autoscaler sets, and what its status says of it: upstream's reconcileAutoscaler without its calls. Pure.
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerCondition,
  HorizontalPodAutoscalerStatus,
  HPAScalingRules,
  MetricStatus,
} from '../../api/generated/types/autoscaling-v2.ts';
import { withCondition } from '../../apimachinery/conditions.ts';
import type { Computed } from './metric-proposals.ts';
import { type History, type Rules, withBehavior, withChange, withoutBehavior } from './scaling-rules.ts';

export interface AutoscalerSettings {
  readonly syncMs: number;
  readonly downscaleStabilizationMs: number;
  readonly tolerance: number;
  readonly cpuInitializationMs: number;
  readonly initialReadinessMs: number;
  /** Autoscalers that are looked at together. */
  readonly concurrency: number;
}

/** Upstream's defaults. */
export const usualAutoscaling: AutoscalerSettings = {
  syncMs: 15_000,
  downscaleStabilizationMs: 300_000,
  tolerance: 0.1,
  cpuInitializationMs: 300_000,
  initialReadinessMs: 30_000,
  concurrency: 5,
};

export type ConditionType = 'AbleToScale' | 'ScalingActive' | 'ScalingLimited';
export type Said = readonly [type: ConditionType, status: 'True' | 'False', reason: string, message: string];
type Conditions = readonly HorizontalPodAutoscalerCondition[];

export const saying = (
  conditions: Conditions,
  [type, status, reason, message]: Said,
  now: string,
): Conditions => withCondition(conditions, { type, status, reason, message, lastTransitionTime: now });

/** `outside`: the number is not within its bounds, whatever is measured. */
export type Question = 'disabled' | 'outside' | 'metrics';

const minOf = ({ spec }: HorizontalPodAutoscaler): number => spec.minReplicas ?? 1;

export function questionOf(hpa: HorizontalPodAutoscaler, current: number): Question {
  const min = minOf(hpa);
  if (current === 0 && min !== 0) return 'disabled';
  return current > hpa.spec.maxReplicas || current < min ? 'outside' : 'metrics';
}

export interface Decision {
  readonly replicas: number;
  readonly isChange: boolean;
  /** Of the change. */
  readonly reason: string;
  readonly said: readonly Said[];
  readonly history: History;
}

const rulesOf = (given: HPAScalingRules | undefined, windowSeconds: number): Rules => ({
  ...given,
  stabilizationWindowSeconds: given?.stabilizationWindowSeconds ?? windowSeconds,
});

/** What is not asked of metrics. */
export function boundedDecision(hpa: HorizontalPodAutoscaler, current: number, history: History): Decision {
  const { maxReplicas } = hpa.spec;
  const message = 'scaling is disabled since the replica count of the target is zero';
  if (questionOf(hpa, current) === 'disabled') {
    const said: readonly Said[] = [['ScalingActive', 'False', 'ScalingDisabled', message]];
    return { replicas: current, isChange: false, reason: '', said, history };
  }
  const isAbove = current > maxReplicas;
  return {
    replicas: isAbove ? maxReplicas : minOf(hpa),
    isChange: true,
    reason: `Current number of replicas ${isAbove ? 'above Spec.MaxReplicas' : 'below Spec.MinReplicas'}`,
    said: [],
    history,
  };
}

export function measuredDecision(
  hpa: HorizontalPodAutoscaler,
  current: number,
  wanted: NonNullable<Computed['wanted']>,
  {
    history,
    nowMs,
    settings,
  }: { readonly history: History; readonly nowMs: number; readonly settings: AutoscalerSettings },
): Decision {
  const { behavior, maxReplicas: max } = hpa.spec;
  const replicas = Math.max(wanted.replicas, 0);
  const wish = { current, wanted: replicas, min: minOf(hpa), max, nowMs, history };
  const windowMs = settings.downscaleStabilizationMs;
  const ruled =
    behavior === undefined
      ? withoutBehavior(wish, windowMs)
      : withBehavior(wish, rulesOf(behavior.scaleUp, 0), rulesOf(behavior.scaleDown, windowMs / 1000));
  const name = replicas > 0 ? wanted.name : '';
  return {
    replicas: ruled.replicas,
    isChange: ruled.replicas !== current,
    reason:
      replicas > current ? `${name} above target` : replicas < current ? 'All metrics below target' : '',
    said: [
      [
        'ScalingActive',
        'True',
        'ValidMetricFound',
        `the HPA was able to successfully calculate a replica count from ${wanted.name}`,
      ],
      ['AbleToScale', 'True', ruled.able.reason, ruled.able.message],
      ['ScalingLimited', ruled.limit.isLimited ? 'True' : 'False', ruled.limit.reason, ruled.limit.message],
    ],
    history: ruled.history,
  };
}

/** Changes count for the policies of a behavior only. */
export function historyAfter(
  { spec: { behavior } }: HorizontalPodAutoscaler,
  history: History,
  change: { readonly before: number; readonly after: number; readonly nowMs: number },
): History {
  if (behavior === undefined) return history;
  return withChange(history, change, behavior.scaleUp ?? {}, behavior.scaleDown ?? {});
}

export const statusWith = (
  before: HorizontalPodAutoscalerStatus | undefined,
  {
    current,
    desired,
    metrics,
    conditions,
    scaledAt,
  }: {
    readonly current: number;
    readonly desired: number;
    readonly metrics: readonly MetricStatus[];
    readonly conditions: Conditions;
    readonly scaledAt?: string | undefined;
  },
): HorizontalPodAutoscalerStatus => {
  const lastScaleTime = scaledAt ?? before?.lastScaleTime;
  return {
    currentReplicas: current,
    desiredReplicas: desired,
    ...(lastScaleTime === undefined ? {} : { lastScaleTime }),
    ...(metrics.length === 0 ? {} : { currentMetrics: [...metrics] }),
    conditions: [...conditions],
  };
};
