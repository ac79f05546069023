// How well the nodes of a zone are, and how fast its pods may be evicted then: who loses most of a zone has lost its network. Pure.
import type { Node } from '../../api/generated/types/core-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';

export interface EvictionRates {
  /** How long a node that isn't ready is watched before it is queued: by then it is known which others aren't. */
  readonly monitorPeriodMs: number;
  /** Nodes a second in a zone that is well. */
  readonly perSecond: number;
  /** Nodes a second in a zone of which too many are not ready, if it is large. */
  readonly secondaryPerSecond: number;
  /** What part of a zone is too many. */
  readonly unhealthyZoneThreshold: number;
  /** A zone of no more nodes is small. */
  readonly largeClusterSizeThreshold: number;
}

/** Upstream's defaults. */
export const usualEvictionRates: EvictionRates = {
  monitorPeriodMs: 5_000,
  perSecond: 0.1,
  secondaryPerSecond: 0.01,
  unhealthyZoneThreshold: 0.55,
  largeClusterSizeThreshold: 50,
};

export type ZoneState = 'Normal' | 'PartialDisruption' | 'FullDisruption';

const failureDomain = 'failure-domain.beta.kubernetes.io';
const exclusionLabel = 'node.kubernetes.io/exclude-disruption';

/** Upstream's GetZoneKey; the old labels count where the new ones are missing. */
export function zoneKey({ metadata: { labels = {} } }: Node): string {
  const zone = labels['topology.kubernetes.io/zone'] ?? labels[`${failureDomain}/zone`] ?? '';
  const region = labels['topology.kubernetes.io/region'] ?? labels[`${failureDomain}/region`] ?? '';
  // No label holds the character between them.
  return region === '' && zone === '' ? '' : `${region}:\0:${zone}`;
}

/** Whether a node says something about the state of its zone. */
export const countsForZone = ({ metadata }: Node): boolean => metadata.labels?.[exclusionLabel] === undefined;

export const readyStatus = (node: Node): string | undefined =>
  findCondition(node.status?.conditions, 'Ready')?.status;

/** Upstream's ComputeZoneState: two nodes that fail are a small zone's two nodes, and no sign of anything else. */
export function zoneState(
  { ready, notReady }: { readonly ready: number; readonly notReady: number },
  unhealthyZoneThreshold: number,
): ZoneState {
  if (ready === 0 && notReady > 0) return 'FullDisruption';
  const isUnwell = notReady > 2 && notReady / (ready + notReady) >= unhealthyZoneThreshold;
  return isUnwell ? 'PartialDisruption' : 'Normal';
}

/** Nodes a second. A zone that fails as a whole while others are well is evicted from as ever. */
export function evictionRate(state: ZoneState, size: number, rates: EvictionRates): number {
  if (state !== 'PartialDisruption') return rates.perSecond;
  return size > rates.largeClusterSizeThreshold ? rates.secondaryPerSecond : 0;
}
