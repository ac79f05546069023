// Two lists of tolerations made one: what another tolerates anyway is left out.
import type { Toleration } from '../../../api/generated/types/core-v1.ts';

const same = (a: Toleration, b: Toleration): boolean =>
  (a.value ?? null) === (b.value ?? null) &&
  (a.tolerationSeconds ?? null) === (b.tolerationSeconds ?? null) &&
  (a.key ?? null) === (b.key ?? null) &&
  (a.effect ?? null) === (b.effect ?? null) &&
  (a.operator ?? null) === (b.operator ?? null);

/** Whether `wide` tolerates all that `narrow` does, as upstream compares them. A pod's thousands are compared each with each. */
export function includesToleration(wide: Toleration, narrow: Toleration): boolean {
  const anyKey = (wide.key ?? '') === '' && wide.operator === 'Exists';
  if ((wide.key ?? '') !== (narrow.key ?? '') && !anyKey) return false;
  if ((wide.effect ?? '') !== (narrow.effect ?? '') && (wide.effect ?? '') !== '') return false;
  if (same(wide, narrow)) return true;
  if (wide.effect === 'NoExecute' && wide.tolerationSeconds !== undefined) {
    if (narrow.tolerationSeconds === undefined) return false;
    if (narrow.tolerationSeconds > wide.tolerationSeconds) return false;
  }
  const operator = wide.operator ?? '';
  if (operator === 'Exists') return true;
  if (operator !== 'Equal' && operator !== '') return false;
  return (narrow.operator ?? '') === operator && (narrow.value ?? '') === (wide.value ?? '');
}

export function mergeTolerations(first: readonly Toleration[], second: readonly Toleration[]): Toleration[] {
  const all = [...first, ...second];
  const merged: Toleration[] = [];
  const isWithinLater = (one: Toleration, from: number): boolean => {
    for (let i = from; i < all.length; i++)
      if (includesToleration(all[i]!, one) && !same(all[i]!, one)) return true;
    return false;
  };
  for (const [i, one] of all.entries()) {
    if (merged.some((kept) => includesToleration(kept, one))) continue;
    if (!isWithinLater(one, i + 1)) merged.push(one);
  }
  return merged;
}
