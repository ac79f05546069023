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
