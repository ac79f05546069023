// Until when, in revisions, objects of a definition may have been stored by what it does not say any more. A write that a
// change of the definition overtakes was decoded and checked by what it said before, as upstream's is: until the last of
// them has ended all that is stored counts as older.

import type { SchemaAge } from '../../apimachinery/declaration.ts';
import { StatusError } from '../../apimachinery/errors.ts';

/** As upstream says it. */
export const terminating = 'create not allowed while custom resource definition is terminating';

const overtaken = (): StatusError =>
  new StatusError(
    503,
    'ServiceUnavailable',
    'the storage version of the custom resource changed while the request was under way, please try again',
    { retryAfterSeconds: 1 },
  );

export class SchemaTimes implements SchemaAge {
  #revision: number;
  /** The version that it stores. */
  #stored: string;
  /** Counts what the definition has said. */
  #turn = 0;
  /** Writes that are under way by what it says now, and by what it said before. */
  #current = 0;
  #overtaken = 0;
  /** Counts the definitions that had the name and were to go. */
  #gone = 0;

  /** `revision`: 0 when nothing older can be stored. */
  constructor(revision: number, stored = '') {
    this.#revision = revision;
    this.#stored = stored;
  }

  get revision(): number {
    return this.#overtaken > 0 ? Number.POSITIVE_INFINITY : this.#revision;
  }

  /** Since this write of it the definition says something else. */
  replace(revision: number, stored: string = this.#stored): void {
    this.#turn++;
    this.#stored = stored;
    this.#overtaken += this.#current;
    this.#current = 0;
    this.#raise(revision);
  }

  /** The definition is to go with its objects: whoever is on the way to create another is too late. */
  clear(): void {
    this.#gone++;
  }

  /** For those who create by what the definition says now: why they may not, by then. */
  creates(): () => string | undefined {
    const gone = this.#gone;
    return () => (gone === this.#gone ? undefined : terminating);
  }

  /**
   * For those who write by what the definition says now: says that a write begins, and the result where it ended. Throws
   * StatusError 503 when another version is stored by now: whoever migrated all objects to it would not find this one.
   */
  writes(): () => (revision: number) => void {
    const turn = this.#turn;
    const stored = this.#stored;
    return () => {
      if (stored !== this.#stored) throw overtaken();
      if (turn === this.#turn) this.#current++;
      else this.#overtaken++;
      return (revision) => {
        if (turn === this.#turn) this.#current--;
        else {
          this.#overtaken--;
          this.#raise(revision);
        }
      };
    };
  }

  #raise(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
  }
}
