// What failed to be pulled for one pod, and when it is tried again: ever later. It goes with its pod, as the back-off of its containers does.
import { RestartBackoff } from './restart-backoff.ts';

export interface PullFailure {
  readonly message: string;
  /** Still to wait before the next try; 0: go on. */
  readonly remainingMs: number;
}

export class PullFailures {
  readonly #backoff = new RestartBackoff();
  readonly #last = new Map<string, { readonly atMs: number; readonly message: string }>();

  last(image: string, nowMs: number): PullFailure | undefined {
    const last = this.#last.get(image);
    return last && { message: last.message, remainingMs: this.#backoff.remainingMs(image, last.atMs, nowMs) };
  }

  /** Answers with the time to wait now. */
  failed(image: string, message: string, nowMs: number): number {
    this.#backoff.next(image, this.#last.get(image)?.atMs ?? nowMs, nowMs);
    this.#last.set(image, { atMs: nowMs, message });
    return this.#backoff.delayMs(image);
  }

  succeeded(image: string): void {
    this.#last.delete(image);
    this.#backoff.reset(image);
  }
}
