// Conditions of a status: found by their type, set, taken away. What does not change stays as it was.

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly lastTransitionTime?: string | undefined;
  readonly lastUpdateTime?: string | undefined;
}

export const findCondition = <C extends Condition>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined => conditions?.find((condition) => condition.type === type);

export const withoutCondition = <C extends Condition>(
  conditions: readonly C[] | undefined,
  type: string,
): C[] => (conditions ?? []).filter((condition) => condition.type !== type);

/** The transition time moves only when the status does. */
function timed<C extends Condition>(next: C, current: C | undefined): C {
  const { lastTransitionTime } = current ?? {};
  return current?.status !== next.status || lastTransitionTime === undefined
    ? next
    : { ...next, lastTransitionTime };
}

/** In the place of the one of its type, as upstream's meta.SetStatusCondition. */
export function withCondition<C extends Condition>(conditions: readonly C[] | undefined, next: C): C[] {
  const current = findCondition(conditions, next.type);
  const made = timed(next, current);
  if (current === undefined) return [...(conditions ?? []), made];
  return (conditions ?? []).map((condition) => (condition === current ? made : condition));
}

/** At the end, as upstream's controllers of workloads; with the same status and reason nothing is said anew. */
export function withConditionLast<C extends Condition>(conditions: readonly C[] | undefined, next: C): C[] {
  const current = findCondition(conditions, next.type);
  if (current?.status === next.status && current.reason === next.reason) return [...(conditions ?? [])];
  return [...withoutCondition(conditions, next.type), timed(next, current)];
}
