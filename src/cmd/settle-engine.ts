// How V8 works for a server that has started: other settings than those under which it starts soonest.
import { setFlagsFromString } from 'node:v8';

const flags = [
  // V8 waits for 3,000 calls, and until nothing new has been learned for 500, before it makes a function's best code: tens of
  // thousands of requests, as each takes several ways.
  '--invocation-count-for-turbofan=800',
  '--minimum-invocations-after-ic-update=100',
  // There is so little of the young generation that waking other threads up costs more than they take over.
  '--no-parallel-scavenge',
] as const;

/**
 * Of a few hundred requests a second each would be answered by slow code for minutes. Not from the process's beginning: what a
 * start runs eight hundred times is of no use later, and costs 60 ms of CPU and 10 MB; and a start has both processors to itself.
 */
export function settleEngine(): void {
  for (const flag of flags) setFlagsFromString(flag);
}
