// How many replicas a metric asks for: upstream's replica calculator, with its rules for pods that are not ready or not measured. Pure.
import type { Container, Pod } from '../../api/generated/types/core-v1.ts';
import { milliValue, tryParseQuantity } from '../../apimachinery/quantity.ts';
import { isPodReady, podCondition } from '../../component-helpers/pod-status.ts';

/** In thousandths. */
export interface PodMetric {
  readonly value: number;
  readonly atMs: number;
  readonly windowMs: number;
}
/** By the names of pods. */
export type PodMetrics = ReadonlyMap<string, PodMetric>;

/** How far from the target nothing is done. */
export interface Tolerances {
  readonly up: number;
  readonly down: number;
}

/** The pods of a target, and when what they use is believed. */
export interface Workload {
  readonly pods: readonly Pod[];
  readonly nowMs: number;
  /** So long after its start a pod's processors count only once it is ready for a whole window. */
  readonly cpuInitializationMs: number;
  /** A pod that was not ready within it has never been. */
  readonly initialReadinessMs: number;
}

export interface Asked {
  readonly replicas: number;
  /** What was measured: in thousandths, of each pod. */
  readonly usage: number;
}

/** Or what is wrong. */
export type Answer<T> = T | string;

const maxInt32 = 2 ** 31 - 1;
const int32 = (value: number): number =>
  Number.isNaN(value) ? 0 : Math.max(-(2 ** 31), Math.min(Math.ceil(value), maxInt32));

const isWithin = ({ up, down }: Tolerances, ratio: number): boolean => 1 - down <= ratio && ratio <= 1 + up;

/** `%v` of a quantity's thousandths, as Go's MilliValue: rounded up. */
export const milli = (quantity: unknown): number =>
  milliValue(tryParseQuantity(quantity) ?? { nano: 0n, format: 'DecimalSI' });

interface Groups {
  readonly ready: number;
  readonly unready: readonly string[];
  readonly missing: readonly string[];
  readonly ignored: readonly string[];
}

const unmeasured: PodMetric = { value: 0, atMs: 0, windowMs: 0 };

function isUnready(pod: Pod, metric: PodMetric, workload: Workload): boolean {
  const condition = podCondition(pod, 'Ready');
  const startMs = Date.parse(pod.status?.startTime ?? '');
  if (condition === undefined || Number.isNaN(startMs)) return true;
  const changedMs = Date.parse(condition.lastTransitionTime ?? '') || 0;
  if (startMs + workload.cpuInitializationMs > workload.nowMs)
    return condition.status === 'False' || metric.atMs < changedMs + metric.windowMs;
  return condition.status === 'False' && startMs + workload.initialReadinessMs > changedMs;
}

/** Only of processors it matters whether a pod is ready: it uses more of them while it starts. */
function groupPods(workload: Workload, metrics: PodMetrics, resource: string): Groups {
  const groups = { ready: 0, unready: [] as string[], missing: [] as string[], ignored: [] as string[] };
  for (const pod of workload.pods) {
    const { name } = pod.metadata;
    const metric = metrics.get(name);
    if (pod.metadata.deletionTimestamp !== undefined || pod.status?.phase === 'Failed')
      groups.ignored.push(name);
    else if (pod.status?.phase === 'Pending') groups.unready.push(name);
    else if (metric === undefined) groups.missing.push(name);
    else if (resource === 'cpu' && isUnready(pod, metric, workload)) groups.unready.push(name);
    else groups.ready++;
  }
  return groups;
}

const isSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';

function requestOf(pod: Pod, container: string, resource: string): Answer<number> {
  const { name } = pod.metadata;
  const ofPod = pod.spec.resources?.requests;
  if (container === '' && Object.keys(ofPod ?? {}).length > 0) {
    const request = ofPod?.[resource];
    return request === undefined
      ? `missing pod-level request for ${resource} in Pod ${name}`
      : milli(request);
  }
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isSidecar)];
  const counted = container === '' ? all : all.filter((one) => one.name === container);
  if (container !== '' && counted.length === 0) return `container ${container} not found in Pod ${name}`;
  let sum = 0;
  for (const one of counted) {
    const request = one.resources?.requests?.[resource];
    if (request === undefined)
      return `missing request for ${resource} in container ${one.name} of Pod ${name}`;
    sum += milli(request);
  }
  return sum;
}

/** By the names of pods. */
export function requestsOf(
  pods: readonly Pod[],
  container: string,
  resource: string,
): Answer<ReadonlyMap<string, number>> {
  const requests = new Map<string, number>();
  for (const pod of pods) {
    const request = requestOf(pod, container, resource);
    if (typeof request === 'string') return request;
    requests.set(pod.metadata.name, request);
  }
  return requests;
}

const noPods = 'no pods returned by selector while calculating replica count';
const noMetrics = 'did not receive metrics for targeted pods (pods might be unready)';

/** Of pods of which something is known. */
function measuredOf(metrics: PodMetrics, { ignored, unready }: Groups): Map<string, PodMetric> {
  const measured = new Map(metrics);
  for (const name of [...ignored, ...unready]) measured.delete(name);
  return measured;
}

interface Balance {
  readonly current: number;
  readonly tolerances: Tolerances;
  readonly groups: Groups;
  readonly measured: ReadonlyMap<string, PodMetric>;
  /** What is used, by what is wanted. */
  readonly ratioOf: (metrics: ReadonlyMap<string, PodMetric>) => number;
  /** What a pod is taken to use that was not measured, when there would be fewer replicas. */
  readonly assumed: (pod: string) => number;
}

/**
 * Pods that were not measured hold a change back: fewer replicas as if those used all they may, more as if they used
 * nothing, and none if they would turn the direction.
 */
function balanced({ current, tolerances, groups, measured, ratioOf, assumed }: Balance): number {
  const ratio = ratioOf(measured);
  const growsWithUnready = groups.unready.length > 0 && ratio > 1;
  if (!growsWithUnready && groups.missing.length === 0)
    return isWithin(tolerances, ratio) ? current : int32(ratio * groups.ready);
  const filled = new Map(measured);
  for (const name of groups.missing)
    if (ratio !== 1) filled.set(name, { ...unmeasured, value: ratio < 1 ? assumed(name) : 0 });
  if (growsWithUnready) for (const name of groups.unready) filled.set(name, unmeasured);
  const next = ratioOf(filled);
  if (isWithin(tolerances, next) || (ratio < 1 && next > 1) || (ratio > 1 && next < 1)) return current;
  const replicas = int32(next * filled.size);
  return (next < 1 && replicas > current) || (next > 1 && replicas < current) ? current : replicas;
}

interface PodQuestion {
  readonly workload: Workload;
  readonly metrics: PodMetrics;
  readonly current: number;
  readonly tolerances: Tolerances;
}

const sumOf = (values: Iterable<number>): number => {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
};

/** Of a target in percent of what pods request. */
export function resourceReplicas(
  { workload, metrics, current, tolerances }: PodQuestion,
  {
    resource,
    container,
    target,
  }: { readonly resource: string; readonly container: string; readonly target: number },
): Answer<Asked & { readonly utilization: number }> {
  if (workload.pods.length === 0) return noPods;
  const groups = groupPods(workload, metrics, resource);
  const measured = measuredOf(metrics, groups);
  if (measured.size === 0) return noMetrics;
  const requests = requestsOf(workload.pods, container, resource);
  if (typeof requests === 'string') return requests;
  const utilizationOf = (of: ReadonlyMap<string, PodMetric>): readonly [percent: number, average: number] => {
    const known = [...of].filter(([name]) => requests.has(name));
    const used = sumOf(known.map(([, { value }]) => value));
    const requested = sumOf(known.map(([name]) => requests.get(name) ?? 0));
    return [
      requested === 0 ? Number.NaN : Math.trunc((used * 100) / requested),
      Math.trunc(used / known.length),
    ];
  };
  const [utilization, usage] = utilizationOf(measured);
  if (Number.isNaN(utilization)) return 'no metrics returned matched known pods';
  const replicas = balanced({
    current,
    tolerances,
    groups,
    measured,
    ratioOf: (of) => utilizationOf(of)[0] / target,
    assumed: (pod) => Math.trunc(((requests.get(pod) ?? 0) * Math.max(100, target)) / 100),
  });
  return { replicas, usage, utilization };
}

/** Of a target in thousandths for each pod. `resource`: '' for what is none. */
export function plainReplicas(
  { workload, metrics, current, tolerances }: PodQuestion,
  { resource, target }: { readonly resource: string; readonly target: number },
): Answer<Asked> {
  if (workload.pods.length === 0) return noPods;
  const groups = groupPods(workload, metrics, resource);
  const measured = measuredOf(metrics, groups);
  if (measured.size === 0) return noMetrics;
  const averageOf = (of: ReadonlyMap<string, PodMetric>): number =>
    Math.trunc(sumOf([...of.values()].map(({ value }) => value)) / of.size);
  const replicas = balanced({
    current,
    tolerances,
    groups,
    measured,
    ratioOf: (of) => averageOf(of) / target,
    assumed: () => target,
  });
  return { replicas, usage: averageOf(measured) };
}

/** Of one number that is not of pods, whose target is that of the whole. From nothing it asks for as many as it says. */
export function totalReplicas(
  { workload, current, tolerances }: Omit<PodQuestion, 'metrics'>,
  usage: number,
  target: number,
): Answer<Asked> {
  const ratio = usage / target;
  if (current === 0) return { replicas: int32(ratio), usage };
  if (isWithin(tolerances, ratio)) return { replicas: current, usage };
  if (workload.pods.length === 0) return `unable to calculate ready pods: ${noPods}`;
  const ready = workload.pods.filter((pod) => pod.status?.phase === 'Running' && isPodReady(pod)).length;
  return { replicas: int32(ratio * ready), usage };
}

/** Of one number that is not of pods, whose target is that of each. `current`: as the target's status says. */
export function perPodReplicas(
  current: number,
  tolerances: Tolerances,
  usage: number,
  target: number,
): Asked {
  const isFine = isWithin(tolerances, usage / (target * current));
  const each = Math.ceil(usage / current);
  return {
    replicas: isFine ? current : int32(usage / target),
    usage: Number.isFinite(each) ? each : Number.MAX_SAFE_INTEGER,
  };
}
