// How much one user may have under way: requests that run or wait, watches, and streams. Beyond that there is 429.

export interface UserLimits {
  readonly requests: number;
  readonly watches: number;
  /** exec, attach, port-forward, log and what is proxied: they have no seat. */
  readonly streams: number;
}
/** Generous: a busy controller has a hundred watches, and rarely ten requests at a time. */
export const defaultUserLimits: UserLimits = { requests: 500, watches: 2_000, streams: 500 };

export class UserCounts {
  readonly #limit: number;
  readonly #counts = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False when the user has as many as may be. */
  take(user: string): boolean {
    const count = this.#counts.get(user) ?? 0;
    if (count >= this.#limit) return false;
    this.#counts.set(user, count + 1);
    return true;
  }

  release(user: string): void {
    const count = this.#counts.get(user) ?? 0;
    if (count <= 1) this.#counts.delete(user);
    else this.#counts.set(user, count - 1);
  }
}
