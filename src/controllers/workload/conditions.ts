// Status conditions of workloads: set one, drop one, without touching what is unchanged.

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

/** The transition time moves only when the status does; an equal status and reason changes nothing. */
export function withCondition<C extends Condition>(conditions: readonly C[] | undefined, next: C): C[] {
  const current = findCondition(conditions, next.type);
  if (current?.status === next.status && current.reason === next.reason) return [...(conditions ?? [])];
  const lastTransitionTime =
    current?.status === next.status ? current.lastTransitionTime : next.lastTransitionTime;
  return [
    ...withoutCondition(conditions, next.type),
    lastTransitionTime === undefined ? next : { ...next, lastTransitionTime },
  ];
}
