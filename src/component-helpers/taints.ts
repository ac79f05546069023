// Taints of nodes and tolerations of pods.
import type { Taint, Toleration } from '../api/generated/types/core-v1.ts';

/** Upstream's ToleratesTaint: an empty key with Exists tolerates everything, an empty effect every effect. */
export function toleratesTaint(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  switch (toleration.operator ?? '') {
    case '':
    case 'Equal':
      return (toleration.value ?? '') === (taint.value ?? '');
    case 'Exists':
      return true;
    case 'Lt':
    case 'Gt':
      return comparesTo(toleration, taint);
    default:
      return false;
  }
}

/** Numeric tolerations: the taint's value is below (Lt) or above (Gt) the toleration's. */
function comparesTo(toleration: Toleration, taint: Taint): boolean {
  const [bound, actual] = [Number(toleration.value ?? ''), Number(taint.value ?? '')];
  if (!Number.isInteger(bound) || !Number.isInteger(actual) || taint.value === undefined) return false;
  return toleration.operator === 'Lt' ? actual < bound : actual > bound;
}

const tolerates = (tolerations: readonly Toleration[] | undefined, taint: Taint): boolean =>
  (tolerations ?? []).some((t) => toleratesTaint(t, taint));

/** The first taint that counts and that nothing tolerates. */
export const findUntoleratedTaint = (
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  counts: (taint: Taint) => boolean = (t) => t.effect === 'NoSchedule' || t.effect === 'NoExecute',
): Taint | undefined => (taints ?? []).find((t) => counts(t) && !tolerates(tolerations, t));

export const sameTaint = (a: Taint, b: Taint): boolean => a.key === b.key && a.effect === b.effect;
