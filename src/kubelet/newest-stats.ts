// Which of the runtime's statistics are of containers as they are now: it goes on telling of those that ended before them. Pure.
import type { ContainerStats } from '../rpc-api/generated/cri-v1.ts';
import { labelContainerName, labelPodUid } from './pod-format.ts';

const attemptOf = ({ attributes }: ContainerStats): number => attributes?.metadata?.attempt ?? 0;

/** Of each name in each pod the last one; what ended before it uses nothing, and a series is told once (upstream: removeTerminatedContainers). */
export function newestStats(all: readonly ContainerStats[]): ContainerStats[] {
  const newest = new Map<string, ContainerStats>();
  for (const stats of all) {
    const { labels } = stats.attributes ?? {};
    const key = `${labels?.[labelPodUid]}/${labels?.[labelContainerName]}`;
    const known = newest.get(key);
    if (!known || attemptOf(known) < attemptOf(stats)) newest.set(key, stats);
  }
  return [...newest.values()];
}
