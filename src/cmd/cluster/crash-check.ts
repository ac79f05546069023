// Says that a process does not stay, when it has ended again and again while somebody waits for it.
import { type SupervisedState, supervisedState } from '../supervisor/supervision.ts';
import { logTail } from './log-tail.ts';

/** One end may be an accident, from which the supervisor has started it again. */
const tolerated = 1;

/**
 * Whether there is nothing to wait for: it ended twice, or once more after ends before, so that the supervisor waits longer
 * and longer with the next start. Pure.
 */
export function doesNotStay(
  before: Pick<SupervisedState, 'restarts'> | undefined,
  now: SupervisedState | undefined,
  nowMs: number,
): boolean {
  const ends = (now?.restarts ?? 0) - (before?.restarts ?? 0);
  return ends > tolerated || (ends > 0 && (now?.nextStartMs ?? 0) > nowMs);
}

/** From now on; throws with what it said last. */
export function crashCheck(root: string, role: string, log: string): () => void {
  const before = supervisedState(root, role);
  return () => {
    if (doesNotStay(before, supervisedState(root, role), Date.now()))
      throw new Error(`${role} does not stay; the end of ${log}:\n${logTail(log)}`);
  };
}
