// Two lists of tolerations made one: what another tolerates anyway is left out.
import type { Toleration } from '../../../api/generated/types/core-v1.ts';
import type { Json } from '../../../apimachinery/declaration.ts';
import { jsonEqual } from '../../../apimachinery/equality.ts';

const same = (a: Toleration, b: Toleration): boolean =>
  jsonEqual({ ...a } as unknown as Json, { ...b } as unknown as Json);

/** Whether `wide` tolerates all that `narrow` does, as upstream compares them. */
export function includesToleration(wide: Toleration, narrow: Toleration): boolean {
  if (same(wide, narrow)) return true;
  const anyKey = (wide.key ?? '') === '' && wide.operator === 'Exists';
  if ((wide.key ?? '') !== (narrow.key ?? '') && !anyKey) return false;
  if ((wide.effect ?? '') !== (narrow.effect ?? '') && (wide.effect ?? '') !== '') return false;
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
  for (const [i, one] of all.entries()) {
    if (merged.some((kept) => includesToleration(kept, one))) continue;
    if (all.slice(i + 1).some((later) => !same(later, one) && includesToleration(later, one))) continue;
    merged.push(one);
  }
  return merged;
}
