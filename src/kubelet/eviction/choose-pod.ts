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
  /** `usage` is only what could be seen of it. */
  readonly unmeasured?: Unmeasured | undefined;
}

export interface Unmeasured {
  /** Also in a long walk of its own, so it is no chance. */
  readonly settled: boolean;
  /** Neither the number of its files nor what they are: the disk or the runtime did not answer. */
  readonly isNodesDoing?: boolean;
  readonly message: string;
}

/** Upstream: SystemCriticalPriority. */
const criticalPriority = 2_000_000_000;
export const isCritical = (pod: Pod): boolean => (pod.spec.priority ?? 0) >= criticalPriority;

/**
 * Whose use can't be known (as upstream: nobody may hide there), who uses more than was asked for, then who matters less, then
 * who uses most beyond. Whom a short walk did not measure may be one with many files, or one that hides behind them. When it
 * asked for room it counts with what was seen of it. When it asked for none it goes after those of whom is seen that their end
 * makes up for the node's whole `shortage`: these are to blame, whatever others have. Without such, it goes before the rest.
 */
export function rankedForEviction(
  all: readonly MeasuredPod[],
  resource: StarvedResource,
  shortage: number,
): MeasuredPod[] {
  const standings = new Map(all.map((measured) => [measured, standingOf(measured, resource, shortage)]));
  return [...all].sort((first, second) => {
    const [a, b] = [standings.get(first)!, standings.get(second)!];
    return (
      Number(b.isHidden) - Number(a.isHidden) ||
      Number(b.exceeds) - Number(a.exceeds) ||
      a.priority - b.priority ||
      b.suspicion - a.suspicion ||
      b.excess - a.excess
    );
  });
}

interface Standing {
  readonly isHidden: boolean;
  readonly exceeds: boolean;
  readonly priority: number;
  readonly suspicion: number;
  /** As far as it was seen. */
  readonly excess: number;
}

const suspicionOf = { enough: 2, anyAmount: 1, asSeen: 0 } as const;

function standingOf(
  { pod, usage, unmeasured }: MeasuredPod,
  resource: StarvedResource,
  shortage: number,
): Standing {
  const request = quantityValue(podResource(pod, 'requests', resource) ?? zeroQuantity);
  const excess = podUse(pod, usage, resource) - request;
  const isUnknown = unmeasured !== undefined && request === 0;
  const isOpen = isUnknown && unmeasured.isNodesDoing !== true;
  return {
    isHidden: unmeasured?.settled === true,
    exceeds: excess > 0 || isUnknown,
    priority: pod.spec.priority ?? 0,
    suspicion: suspicionOf[excess >= shortage ? 'enough' : isOpen ? 'anyAmount' : 'asSeen'],
    excess,
  };
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
