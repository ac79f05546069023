// The quality-of-service class of a pod, as upstream's ComputePodQOS.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { tryParseQuantity } from '../../../apimachinery/quantity.ts';
import type { Pod, ResourceRequirements } from '../../generated/types/core-v1.ts';
import { isPodLevelResource } from './pod-resources.ts';

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

const counted = ['cpu', 'memory'];
const amount = (
  resources: Decoded<ResourceRequirements>,
  list: 'requests' | 'limits',
  name: string,
): bigint => {
  const value = resources[list]?.[name];
  return tryParseQuantity(value)?.nano ?? 0n;
};

/**
 * Guaranteed: every container has limits for cpu and memory and equal requests. BestEffort: none has any.
 * A pod that has resources of its own is judged by them alone.
 */
export function podQosClass(pod: Decoded<Pod>): QosClass {
  const own = pod.spec?.resources ?? {};
  const holders = Object.keys({ ...(own.requests ?? {}), ...(own.limits ?? {}) }).some(isPodLevelResource)
    ? [own]
    : [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])].map((c) => c.resources ?? {});
  let any = false;
  let guaranteed = holders.length > 0;
  for (const resources of holders)
    for (const name of counted) {
      const request = amount(resources, 'requests', name);
      const limit = amount(resources, 'limits', name);
      if (request > 0n || limit > 0n) any = true;
      if (limit === 0n || (request !== 0n && request !== limit)) guaranteed = false;
    }
  return !any ? 'BestEffort' : guaranteed ? 'Guaranteed' : 'Burstable';
}
