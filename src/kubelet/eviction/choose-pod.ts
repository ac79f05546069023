// Which pod goes first when its node is short of something, and what it is told. Pure (upstream: eviction/helpers.go).
import type { Pod } from '../../api/generated/types/core-v1.ts';
import {
  compareQuantities,
  formatQuantity,
  quantityOf,
  quantityValue,
  tryParseQuantity,
  zeroQuantity,
} from '../../apimachinery/quantity.ts';
import { isSidecar } from '../pod-format.ts';
import { type PodUsage, podResource, podUse } from './pod-usage.ts';
import { type MetThreshold, resourceOf, type StarvedResource } from './thresholds.ts';

export interface MeasuredPod {
  readonly pod: Pod;
  readonly usage: PodUsage;
  /** `usage` is only what could be seen of it. `settled`: also in a long walk of its own, so it is no chance. */
  readonly unmeasured?: { readonly settled: boolean; readonly message: string } | undefined;
}

/** Upstream: SystemCriticalPriority. */
const criticalPriority = 2_000_000_000;
export const isCritical = (pod: Pod): boolean => (pod.spec.priority ?? 0) >= criticalPriority;

/**
 * Whose use can't be known (as upstream: nobody may hide there), who uses more than was asked for, then who matters less, then
 * who uses most beyond. Whom a short walk did not measure may be one with many files: it counts with what was seen of it when it
 * asked for room, and as one that uses any amount when it asked for none.
 */
export function rankedForEviction(all: readonly MeasuredPod[], resource: StarvedResource): MeasuredPod[] {
  const excess = ({ pod, usage, unmeasured }: MeasuredPod): number => {
    const request = quantityValue(podResource(pod, 'requests', resource) ?? zeroQuantity);
    return unmeasured && request === 0 ? Number.MAX_SAFE_INTEGER : podUse(pod, usage, resource) - request;
  };
  const isHidden = ({ unmeasured }: MeasuredPod): boolean => unmeasured?.settled === true;
  return [...all].sort(
    (a, b) =>
      Number(isHidden(b)) - Number(isHidden(a)) ||
      Number(excess(b) > 0) - Number(excess(a) > 0) ||
      (a.pod.spec.priority ?? 0) - (b.pod.spec.priority ?? 0) ||
      excess(b) - excess(a),
  );
}

export function pressureMessage({ pod, usage, unmeasured }: MeasuredPod, met: MetThreshold): string {
  const resource = resourceOf(met.signal);
  const head = `The node was low on resource: ${resource}. Threshold quantity: ${formatQuantity(met.quantity)}, available: ${formatQuantity(met.available)}. `;
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isSidecar)];
  const lines = usage.containers.map((used) => {
    const spec = containers.find((c) => c.name === used.name);
    if (spec === undefined || resource === 'inodes') return '';
    const amount = quantityOf(
      resource === 'memory' ? used.memoryBytes : used.rootfsBytes + used.logsBytes,
      'BinarySI',
    );
    const request = tryParseQuantity(spec.resources?.requests?.[resource]) ?? zeroQuantity;
    if (compareQuantities(amount, request) <= 0) return '';
    return `Container ${used.name} was using ${formatQuantity(amount)}, request is ${formatQuantity(request)}, has larger consumption of ${resource}. `;
  });
  return head + lines.join('') + (unmeasured?.message ?? '');
}
