// Why a container does not run although it should: reasons as its status shows them, and what there is of the container by then.

/** Upstream's words, by how far the start came. */
const stages = {
  ErrImageNeverPull: 'image',
  ErrImagePull: 'image',
  ImageInspectError: 'image',
  ImagePullBackOff: 'image',
  InvalidImageName: 'image',
  CreateContainerConfigError: 'create',
  CreateContainerError: 'create',
  RunContainerError: 'run',
  PostStartHookError: 'postStart',
} as const;

export type StartFailure = keyof typeof stages;
export type StartStage = (typeof stages)[StartFailure];

/** What a status shows of a container that waits. */
export interface Waiting {
  readonly reason: StartFailure | 'CrashLoopBackOff';
  readonly message: string;
}

/** A container that can't start; `reason` is shown in its status, `retryMs` when to try again. */
export class StartError extends Error {
  readonly reason: StartFailure;
  readonly retryMs: number;
  constructor(reason: StartFailure, message: string, retryMs: number) {
    super(message);
    this.name = 'StartError';
    this.reason = reason;
    this.retryMs = retryMs;
  }

  /** From 'run' on there is a container, which may have ended. */
  get stage(): StartStage {
    return stages[this.reason];
  }
}
