// How much one user may have under way: requests that run or wait, watches, and streams. Beyond that there is 429.
import { once } from '../../base/once.ts';
import { accountNamespace, sharesOfNamespace } from './shares.ts';

export interface UserLimits {
  readonly requests: number;
  readonly watches: number;
  /** exec, attach, port-forward, log and what is proxied: they have no seat. */
  readonly streams: number;
}
/** Generous: a busy controller has a hundred watches, and rarely ten requests at a time. */
export const defaultUserLimits: UserLimits = { requests: 500, watches: 2_000, streams: 500 };

/** Places of one kind. The accounts of a namespace have a bound together, too: who makes one makes sixty. */
export class UserPlaces {
  readonly #users: Counts;
  readonly #namespaces: Counts;

  constructor(limit: number) {
    this.#users = new Counts(limit);
    this.#namespaces = new Counts(limit * sharesOfNamespace);
  }

  /** How a place is given back; undefined when there is none. */
  take(user: string): (() => void) | undefined {
    const namespace = accountNamespace(user);
    if (!this.#users.take(user)) return undefined;
    if (namespace !== undefined && !this.#namespaces.take(namespace)) {
      this.#users.release(user);
      return undefined;
    }
    return once(() => {
      this.#users.release(user);
      if (namespace !== undefined) this.#namespaces.release(namespace);
    });
  }
}

class Counts {
  readonly #limit: number;
  readonly #counts = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False when there are as many as may be. */
  take(key: string): boolean {
    const count = this.#counts.get(key) ?? 0;
    if (count >= this.#limit) return false;
    this.#counts.set(key, count + 1);
    return true;
  }

  release(key: string): void {
    const count = this.#counts.get(key) ?? 0;
    if (count <= 1) this.#counts.delete(key);
    else this.#counts.set(key, count - 1);
  }
}
