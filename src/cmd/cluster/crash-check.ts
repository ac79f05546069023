// Says that a process does not stay, when it has ended again and again while somebody waits for it.
import { supervisedState } from '../supervisor/supervision.ts';
import { logTail } from './log-tail.ts';

/** One end may be an accident, from which the supervisor has started it again. */
const tolerated = 1;

/** From now on; throws with the last lines of the log. */
export function crashCheck(root: string, role: string, log: string): () => void {
  const before = supervisedState(root, role)?.restarts ?? 0;
  return () => {
    const restarts = (supervisedState(root, role)?.restarts ?? before) - before;
    if (restarts > tolerated) throw new Error(`${role} ended; the last lines of ${log}:\n${logTail(log)}`);
  };
}
