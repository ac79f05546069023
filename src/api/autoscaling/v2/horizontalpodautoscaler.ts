// HorizontalPodAutoscalers: kept as v2, served as v1 too.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import { invalid } from '../../../apimachinery/field-error.ts';
import {
  ensure,
  isObject,
  num,
  obj,
  objs,
  setDefault,
  spec,
  status,
  str,
} from '../../../apimachinery/json-access.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

const shownMetrics = 2;
const unknown = '<unknown>';

function metricText(metric: JsonObject, current: JsonObject | undefined): string {
  const type = str(metric['type']);
  const key = type.charAt(0).toLowerCase() + type.slice(1);
  const target = obj(obj(metric[key])['target']);
  const now = obj(obj(current?.[key])['current']);
  const label =
    type === 'Resource' || type === 'ContainerResource' ? `${str(obj(metric[key])['name'])}: ` : '';
  const known = current !== undefined;
  if (target['averageUtilization'] !== undefined)
    return `${label}${known && now['averageUtilization'] !== undefined ? `${num(now['averageUtilization'])}%` : unknown}/${num(target['averageUtilization'])}%`;
  if (target['averageValue'] !== undefined) {
    const avg = type === 'Resource' || type === 'ContainerResource' || type === 'Pods' ? '' : ' (avg)';
    return `${label}${known && now['averageValue'] !== undefined ? str(now['averageValue']) : unknown}/${str(target['averageValue'])}${avg}`;
  }
  return `${label}${known && now['value'] !== undefined ? str(now['value']) : unknown}/${str(target['value']) || '<auto>'}`;
}

function targets(hpa: JsonObject): string {
  const metrics = objs(spec(hpa)['metrics']);
  if (metrics.length === 0) return '<none>';
  const current = objs(status(hpa)['currentMetrics']);
  const list = metrics.slice(0, shownMetrics).map((m, i) => metricText(m, current[i]));
  return metrics.length > shownMetrics
    ? `${list.join(', ')} + ${metrics.length - shownMetrics} more...`
    : list.join(', ');
}

const row = (o: JsonObject, now: number): Json[] => {
  const target = obj(spec(o)['scaleTargetRef']);
  return [
    nameCell(o),
    `${str(target['kind'])}/${str(target['name'])}`,
    targets(o),
    spec(o)['minReplicas'] === undefined ? '<unset>' : String(num(spec(o)['minReplicas'])),
    String(num(spec(o)['maxReplicas'])),
    String(num(status(o)['currentReplicas'])),
    ageCell(o, now),
  ];
};

const policy = (type: string, value: number, periodSeconds: number): JsonObject => ({
  type,
  value,
  periodSeconds,
});

function rules(behavior: JsonObject, name: string, defaults: JsonObject): void {
  const given = obj(behavior[name]);
  behavior[name] = {
    ...defaults,
    ...given,
    ...(objs(given['policies']).length > 0 ? {} : { policies: defaults['policies'] ?? [] }),
  };
}

function applyDefaults(hpa: JsonObject): void {
  const s = ensure(hpa, 'spec');
  setDefault(s, 'minReplicas', 1);
  if (objs(s['metrics']).length === 0)
    s['metrics'] = [
      {
        type: 'Resource',
        resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
      },
    ];
  const behavior = s['behavior'];
  if (!isObject(behavior)) return;
  rules(behavior, 'scaleUp', {
    stabilizationWindowSeconds: 0,
    selectPolicy: 'Max',
    policies: [policy('Pods', 4, 15), policy('Percent', 100, 15)],
  });
  rules(behavior, 'scaleDown', { selectPolicy: 'Max', policies: [policy('Percent', 100, 15)] });
}

export function validateHorizontalPodAutoscaler(hpa: JsonObject): Errors {
  const s = spec(hpa);
  const errors: Errors = [];
  if (s['minReplicas'] !== undefined && num(s['minReplicas']) < 1)
    errors.push(invalid('spec.minReplicas', s['minReplicas'], 'must be greater than or equal to 1'));
  if (num(s['maxReplicas']) < 1)
    errors.push(invalid('spec.maxReplicas', num(s['maxReplicas']), 'must be greater than 0'));
  if (s['minReplicas'] !== undefined && num(s['maxReplicas']) < num(s['minReplicas']))
    errors.push(
      invalid('spec.maxReplicas', num(s['maxReplicas']), 'must be greater than or equal to `minReplicas`'),
    );
  return errors;
}

export const horizontalPodAutoscaler: KindBehaviour = {
  row,
  storage: { group: 'autoscaling', version: 'v2', resource: 'horizontalpodautoscalers' },
  strategy: { applyDefaults, validate: validateHorizontalPodAutoscaler },
};

const annotations = {
  metrics: 'autoscaling.alpha.kubernetes.io/metrics',
  behavior: 'autoscaling.alpha.kubernetes.io/behavior',
  currentMetrics: 'autoscaling.alpha.kubernetes.io/current-metrics',
  conditions: 'autoscaling.alpha.kubernetes.io/conditions',
} as const;

const isCpuUtilization = (m: JsonObject): boolean =>
  m['type'] === 'Resource' &&
  obj(m['resource'])['name'] === 'cpu' &&
  obj(obj(m['resource'])['target'])['type'] === 'Utilization';

/** v2 as v1: the CPU target is a field, the rest goes to annotations, as upstream keeps it. */
export function hpaToV1(hpa: JsonObject): JsonObject {
  const { metrics, behavior, ...rest } = spec(hpa);
  const all = objs(metrics);
  const cpu = all.find(isCpuUtilization);
  const others = all.filter((m) => m !== cpu);
  const { currentMetrics, conditions, ...restStatus } = status(hpa);
  const nowCpu = objs(currentMetrics).find(
    (m) => m['type'] === 'Resource' && obj(m['resource'])['name'] === 'cpu',
  );
  const utilization = obj(obj(nowCpu?.['resource'])['current'])['averageUtilization'];
  const meta = { ...obj(hpa['metadata']) };
  const notes: JsonObject = { ...obj(meta['annotations']) };
  if (others.length > 0) notes[annotations.metrics] = JSON.stringify(others);
  if (behavior !== undefined) notes[annotations.behavior] = JSON.stringify(behavior);
  if (objs(currentMetrics).length > 0) notes[annotations.currentMetrics] = JSON.stringify(currentMetrics);
  if (objs(conditions).length > 0) notes[annotations.conditions] = JSON.stringify(conditions);
  if (Object.keys(notes).length > 0) meta['annotations'] = notes;
  return {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v1',
    metadata: meta,
    spec: {
      ...rest,
      ...(cpu
        ? { targetCPUUtilizationPercentage: obj(obj(cpu['resource'])['target'])['averageUtilization'] }
        : {}),
    },
    status: {
      ...restStatus,
      ...(utilization === undefined ? {} : { currentCPUUtilizationPercentage: utilization }),
    },
  };
}

const parsed = (text: Json | undefined): Json | undefined => {
  try {
    return typeof text === 'string' ? (JSON.parse(text) as Json) : undefined;
  } catch {
    return undefined;
  }
};

/** v1 as v2, annotations folded back. */
export function hpaFromV1(hpa: JsonObject): JsonObject {
  const { targetCPUUtilizationPercentage: cpu, ...rest } = spec(hpa);
  const { currentCPUUtilizationPercentage: _now, ...restStatus } = status(hpa);
  const meta = { ...obj(hpa['metadata']) };
  const notes: JsonObject = { ...obj(meta['annotations']) };
  const from = (name: keyof typeof annotations): Json | undefined => {
    const value = parsed(notes[annotations[name]]);
    delete notes[annotations[name]];
    return value;
  };
  const others = from('metrics');
  const behavior = from('behavior');
  const currentMetrics = from('currentMetrics');
  const conditions = from('conditions');
  if (Object.keys(notes).length > 0) meta['annotations'] = notes;
  else delete meta['annotations'];
  const metrics: Json[] = [...(Array.isArray(others) ? others : [])];
  if (typeof cpu === 'number')
    metrics.push({
      type: 'Resource',
      resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: cpu } },
    });
  return {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v2',
    metadata: meta,
    spec: {
      ...rest,
      ...(metrics.length > 0 ? { metrics } : {}),
      ...(isObject(behavior) ? { behavior } : {}),
    },
    status: {
      ...restStatus,
      currentMetrics: Array.isArray(currentMetrics) ? currentMetrics : null,
      ...(Array.isArray(conditions) ? { conditions } : {}),
    },
  };
}
