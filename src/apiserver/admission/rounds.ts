// Webhooks and policies that change an object may want to be asked again when others have changed it after them. Once.
import type { JsonObject } from '../../apimachinery/declaration.ts';

/** Of one request: who is asked again, and after what. */
export interface Rounds {
  /** Asked since the last change, and willing to be asked again. */
  asked: Set<string>;
  readonly again: Set<string>;
  /** What they left. */
  left: JsonObject | undefined;
}

export function askAgain(rounds: Rounds): void {
  for (const id of rounds.asked) rounds.again.add(id);
  rounds.asked = new Set();
}
