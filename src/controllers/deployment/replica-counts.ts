// Arithmetic of a rollout: surge, unavailability, and how replicas are shared among replica sets. Pure.
import type { Deployment, ReplicaSet } from '../../api/generated/types/apps-v1.ts';
import { scaledValue } from '../../apimachinery/int-or-string.ts';

export const desiredAnnotation = 'deployment.kubernetes.io/desired-replicas';
export const maxAnnotation = 'deployment.kubernetes.io/max-replicas';
export const revisionAnnotation = 'deployment.kubernetes.io/revision';
export const revisionHistoryAnnotation = 'deployment.kubernetes.io/revision-history';

export const replicasOf = (object: Deployment | ReplicaSet): number => object.spec?.replicas ?? 1;
export const sumOfReplicas = (list: readonly ReplicaSet[]): number =>
  list.reduce((sum, rs) => sum + replicasOf(rs), 0);
export const sumOfAvailable = (list: readonly ReplicaSet[]): number =>
  list.reduce((sum, rs) => sum + (rs.status?.availableReplicas ?? 0), 0);
export const isActive = (rs: ReplicaSet): boolean => replicasOf(rs) > 0;
export const isRollingUpdate = (d: Deployment): boolean =>
  (d.spec.strategy?.type ?? 'RollingUpdate') === 'RollingUpdate';

const createdAt = (rs: ReplicaSet): number => Date.parse(rs.metadata.creationTimestamp ?? '') || 0;
const byName = (a: ReplicaSet, b: ReplicaSet): number =>
  a.metadata.name < b.metadata.name ? -1 : a.metadata.name > b.metadata.name ? 1 : 0;
export const byAge = (a: ReplicaSet, b: ReplicaSet): number => createdAt(a) - createdAt(b) || byName(a, b);
/** Upstream's ReplicaSetsBySizeNewer and BySizeOlder. */
const bySizeNewer = (a: ReplicaSet, b: ReplicaSet): number => replicasOf(b) - replicasOf(a) || byAge(b, a);
const bySizeOlder = (a: ReplicaSet, b: ReplicaSet): number => replicasOf(b) - replicasOf(a) || byAge(a, b);

/** Both resolved to numbers; a rollout that may neither add nor remove would never end, so it may remove one. */
function fenceposts(d: Deployment): { surge: number; unavailable: number } {
  const { maxSurge, maxUnavailable } = d.spec.strategy?.rollingUpdate ?? {};
  const surge = scaledValue(maxSurge ?? 0, replicasOf(d), true);
  const unavailable = scaledValue(maxUnavailable ?? 0, replicasOf(d), false);
  return surge === 0 && unavailable === 0 ? { surge, unavailable: 1 } : { surge, unavailable };
}
export const maxSurgeOf = (d: Deployment): number => (isRollingUpdate(d) ? fenceposts(d).surge : 0);
export function maxUnavailableOf(d: Deployment): number {
  if (!isRollingUpdate(d) || replicasOf(d) === 0) return 0;
  return Math.min(fenceposts(d).unavailable, replicasOf(d));
}

/** How large the new replica set may be now. */
export function newReplicaSetSize(d: Deployment, all: readonly ReplicaSet[], current: number): number {
  if (!isRollingUpdate(d)) return replicasOf(d);
  const room = replicasOf(d) + maxSurgeOf(d) - sumOfReplicas(all);
  return room <= 0 ? current : current + Math.min(room, replicasOf(d) - current);
}

export type Sizes = ReadonlyMap<ReplicaSet, number>;

/** What old replica sets come down to: first pods that are not available, then as many as the new ones allow. */
export function oldReplicaSetSizes(
  d: Deployment,
  newRS: ReplicaSet | undefined,
  old: readonly ReplicaSet[],
): Sizes {
  const sizes = new Map<ReplicaSet, number>();
  const all = newRS === undefined ? old : [...old, newRS];
  const minAvailable = replicasOf(d) - maxUnavailableOf(d);
  const newUnavailable = newRS === undefined ? 0 : replicasOf(newRS) - (newRS.status?.availableReplicas ?? 0);
  const maxScaledDown = sumOfReplicas(all) - minAvailable - newUnavailable;
  if (sumOfReplicas(old) === 0 || maxScaledDown <= 0) return sizes;
  const sorted = [...old].sort(byAge);

  let unhealthyLeft = maxScaledDown;
  for (const rs of sorted) {
    if (unhealthyLeft <= 0) break;
    if (replicasOf(rs) === 0) continue;
    const unhealthy = replicasOf(rs) - (rs.status?.availableReplicas ?? 0);
    // Its status is older than its size: of the pods that it counts some are on their way already.
    if (unhealthy < 0) return sizes;
    const down = Math.min(unhealthyLeft, unhealthy);
    if (down > 0) sizes.set(rs, replicasOf(rs) - down);
    unhealthyLeft -= down;
  }
  let surplus = sumOfAvailable(all) - minAvailable;
  for (const rs of sorted) {
    const size = sizes.get(rs) ?? replicasOf(rs);
    const down = Math.min(size, Math.max(0, surplus));
    if (down > 0) sizes.set(rs, size - down);
    surplus -= down;
  }
  return sizes;
}

const numberIn = (rs: ReplicaSet, annotation: string): number | undefined => {
  const text = rs.metadata.annotations?.[annotation];
  return text !== undefined && /^-?[0-9]{1,10}$/.test(text) ? Number(text) : undefined;
};
export const desiredOf = (rs: ReplicaSet): number | undefined => numberIn(rs, desiredAnnotation);

/** Rounds half away from zero, as Go. */
const round = (value: number): number => Math.sign(value) * Math.round(Math.abs(value));

function fraction(rs: ReplicaSet, d: Deployment): number {
  if (replicasOf(d) === 0) return -replicasOf(rs);
  const annotated = numberIn(rs, maxAnnotation) ?? d.status?.replicas ?? 0;
  // Never seen: it can't be told what part this one is.
  if (annotated === 0) return 0;
  return round((replicasOf(rs) * (replicasOf(d) + maxSurgeOf(d))) / annotated) - replicasOf(rs);
}

/** Scaling in the middle of a rollout: each replica set grows or shrinks by its part, the largest takes the rest. */
export function proportionalSizes(d: Deployment, active: readonly ReplicaSet[]): Sizes {
  const allowed = replicasOf(d) > 0 ? replicasOf(d) + maxSurgeOf(d) : 0;
  const toAdd = allowed - sumOfReplicas(active);
  const sorted = [...active].sort(toAdd > 0 ? bySizeNewer : bySizeOlder);
  const sizes = new Map<ReplicaSet, number>();
  let added = 0;
  for (const rs of sorted) {
    const left = toAdd - added;
    const part = fraction(rs, d);
    const share =
      replicasOf(rs) === 0 || left === 0 ? 0 : toAdd > 0 ? Math.min(part, left) : Math.max(part, left);
    sizes.set(rs, replicasOf(rs) + share);
    added += share;
  }
  const [largest] = sorted;
  if (largest !== undefined && toAdd !== 0)
    sizes.set(largest, Math.max(0, (sizes.get(largest) ?? 0) + toAdd - added));
  return sizes;
}
