// Autoscalers of v1, which are kept as v2: what v1 has no field for lives in annotations, each of them of a type.

import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import type { TypeSchema } from '../../../apimachinery/json.ts';
import { arr, isObject, obj, objs, spec, status, str } from '../../../apimachinery/json-access.ts';
import { decodeObject } from '../../../apimachinery/schema-decode.ts';
import { DecodeError } from '../../../apimachinery/schema-errors.ts';
import { createPlans } from '../../../apimachinery/schema-plan.ts';
import { htmlSafeJson } from '../../../base/html-safe-json.ts';
import { schemaSource } from '../../schema-source.ts';
import { annotatedTypes, measuredToV1, measuredToV2, wantedToV1, wantedToV2 } from './annotated-metrics.ts';

const prefix = 'autoscaling.alpha.kubernetes.io/';
const annotations = {
  metrics: `${prefix}metrics`,
  behavior: `${prefix}behavior`,
  currentMetrics: `${prefix}current-metrics`,
  conditions: `${prefix}conditions`,
} as const;
type Annotated = keyof typeof annotations;
/** What is between the versions only, and in neither of them: tolerances are those of v2beta2. */
const passing: readonly string[] = [
  ...Object.values(annotations),
  `${prefix}scale-down-tolerance`,
  `${prefix}scale-up-tolerance`,
];

const v2 = 'io.k8s.api.autoscaling.v2';
const annotated: TypeSchema = {
  type: 'object',
  fields: {
    metrics: { type: 'array', items: { ref: 'MetricSpec' } },
    behavior: { ref: `${v2}.HorizontalPodAutoscalerBehavior` },
    currentMetrics: { type: 'array', items: { ref: 'MetricStatus' } },
    conditions: { type: 'array', items: { ref: `${v2}.HorizontalPodAutoscalerCondition` } },
  },
};
const plans = createPlans({
  type: (name) => (name === 'Annotated' ? annotated : (annotatedTypes.get(name) ?? schemaSource.type(name))),
});

const defaultUtilization = 80;
const cpuMetric = (averageUtilization: Json): JsonObject => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
});
const isCpu = (metric: JsonObject): boolean =>
  metric['type'] === 'Resource' && obj(metric['resource'])['name'] === 'cpu';
const wantedUtilization = (metric: JsonObject): Json | undefined =>
  isCpu(metric) ? obj(obj(metric['resource'])['target'])['averageUtilization'] : undefined;

const rulesToGo = (rules: Json | undefined): Json =>
  isObject(rules)
    ? {
        StabilizationWindowSeconds: rules['stabilizationWindowSeconds'] ?? null,
        SelectPolicy: rules['selectPolicy'] ?? null,
        Policies: Array.isArray(rules['policies'])
          ? objs(rules['policies']).map(({ type, value, periodSeconds }) => ({
              Type: type ?? '',
              Value: value ?? 0,
              PeriodSeconds: periodSeconds ?? 0,
            }))
          : null,
        Tolerance: rules['tolerance'] ?? null,
      }
    : null;
/** Upstream writes this one as Go's own fields are called, and reads it in whatever case. */
const behaviorToGo = (behavior: JsonObject): JsonObject => ({
  ScaleUp: rulesToGo(behavior['scaleUp']),
  ScaleDown: rulesToGo(behavior['scaleDown']),
});
const goNames = new Map(
  [
    'scaleUp',
    'scaleDown',
    'stabilizationWindowSeconds',
    'selectPolicy',
    'policies',
    'tolerance',
    'type',
    'value',
    'periodSeconds',
  ].map((name) => [name.toLowerCase(), name]),
);
/** Three floors deep, as rules and policies are. */
function fromGoNames(value: Json, floors = 3): Json {
  if (floors < 0) return value;
  if (Array.isArray(value)) return value.map((item) => fromGoNames(item, floors - 1));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [
      goNames.get(key.toLowerCase()) ?? key,
      fromGoNames(part ?? null, floors - 1),
    ]),
  );
}

/** Of its type, or nothing: what is not well formed says nothing. */
function decoded(name: Annotated, text: Json | undefined): Json | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    const value = JSON.parse(text) as Json;
    const holder: JsonObject = { [name]: name === 'behavior' ? fromGoNames(value) : value };
    decodeObject(plans, 'Annotated', holder, { defaults: false });
    return holder[name];
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof DecodeError) return undefined;
    throw error;
  }
}

/** Without what passes between versions. */
function ownMetadata(hpa: JsonObject, more: JsonObject): JsonObject {
  const meta = { ...obj(hpa['metadata']) };
  const kept = Object.entries(obj(meta['annotations'])).filter(([key]) => !passing.includes(key));
  const all = Object.fromEntries([...kept, ...Object.entries(more)]);
  if (Object.keys(all).length > 0) meta['annotations'] = all;
  else delete meta['annotations'];
  return meta;
}

const conditionToV1 = (condition: JsonObject): JsonObject => ({
  type: str(condition['type']),
  status: str(condition['status']),
  lastTransitionTime: condition['lastTransitionTime'] ?? null,
  ...(str(condition['reason']) === '' ? {} : { reason: str(condition['reason']) }),
  ...(str(condition['message']) === '' ? {} : { message: str(condition['message']) }),
});

/** v2 as v1: the CPU target is a field, the rest goes to annotations, as upstream keeps it. */
export function hpaToV1(hpa: JsonObject): JsonObject {
  const { metrics, behavior, ...rest } = spec(hpa);
  const { currentMetrics, conditions, ...restStatus } = status(hpa);
  const others = objs(metrics).filter((metric) => wantedUtilization(metric) === undefined);
  const target = wantedUtilization(objs(metrics).find(isCpu) ?? {});
  const current = objs(currentMetrics)
    .filter(isCpu)
    .map((metric) => obj(obj(metric['resource'])['current'])['averageUtilization'])
    .findLast((utilization) => utilization !== undefined);
  const notes: JsonObject = {};
  if (others.length > 0) notes[annotations.metrics] = htmlSafeJson(wantedToV1(others));
  if (arr(currentMetrics).length > 0)
    notes[annotations.currentMetrics] = htmlSafeJson(measuredToV1(currentMetrics));
  if (isObject(behavior)) notes[annotations.behavior] = htmlSafeJson(behaviorToGo(behavior));
  if (arr(conditions).length > 0)
    notes[annotations.conditions] = htmlSafeJson(objs(conditions).map(conditionToV1));
  return {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v1',
    metadata: ownMetadata(hpa, notes),
    spec: { ...rest, ...(target === undefined ? {} : { targetCPUUtilizationPercentage: target }) },
    status: { ...restStatus, ...(current === undefined ? {} : { currentCPUUtilizationPercentage: current }) },
  };
}

/** v1 as v2, annotations folded back. */
export function hpaFromV1(hpa: JsonObject): JsonObject {
  const { targetCPUUtilizationPercentage: target, ...rest } = spec(hpa);
  const { currentCPUUtilizationPercentage: current, ...restStatus } = status(hpa);
  const notes = obj(obj(hpa['metadata'])['annotations']);
  const from = (name: Annotated): Json | undefined => decoded(name, notes[annotations[name]]);
  const metrics = wantedToV2(from('metrics'));
  if (target !== undefined) metrics.push(cpuMetric(target));
  if (metrics.length === 0) metrics.push(cpuMetric(defaultUtilization));
  const behavior = obj(from('behavior'));
  const measured = from('currentMetrics');
  const ofCpu =
    current === undefined
      ? null
      : [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: current } } }];
  const conditions = from('conditions');
  return {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v2',
    metadata: ownMetadata(hpa, {}),
    spec: { ...rest, metrics, ...(Object.keys(behavior).length > 0 ? { behavior } : {}) },
    status: {
      ...restStatus,
      currentMetrics: measured === undefined ? ofCpu : measuredToV2(measured),
      ...(conditions === undefined ? {} : { conditions }),
    },
  };
}
