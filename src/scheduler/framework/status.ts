// What a plugin answers: fine, not on this node, never, or broken.

export type StatusCode =
  | 'Unschedulable'
  /** Removing pods would not help: preemption need not look. */
  | 'UnschedulableAndUnresolvable'
  | 'Wait'
  | 'Skip'
  | 'Error';

export interface Status {
  readonly code: StatusCode;
  /** As they appear in the FailedScheduling message. */
  readonly reasons: readonly string[];
  readonly plugin?: string;
}

/** undefined is success everywhere. */
export type Result = Status | undefined;

export const unschedulable = (...reasons: string[]): Status => ({ code: 'Unschedulable', reasons });
export const unresolvable = (...reasons: string[]): Status => ({
  code: 'UnschedulableAndUnresolvable',
  reasons,
});
export const failure = (reason: string): Status => ({ code: 'Error', reasons: [reason] });
export const skip: Status = { code: 'Skip', reasons: [] };

/** Why each node was refused: those that were asked, and what holds for all others. */
export class NodeStatuses {
  readonly asked: Map<string, Status> = new Map();
  readonly others: Status;

  constructor(others: Status = unresolvable()) {
    this.others = others;
  }

  of(node: string): Status {
    return this.asked.get(node) ?? this.others;
  }

  /** How many of `total` nodes each reason holds for. */
  reasons(total: number): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    const count = ({ reasons }: Status, by: number): void => {
      for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + by);
    };
    for (const status of this.asked.values()) count(status, 1);
    if (this.asked.size < total) count(this.others, total - this.asked.size);
    return counts;
  }
}
