// How V8 works for a process that has started: other settings than those under which it starts soonest.
import { setFlagsFromString } from 'node:v8';

const ofTheHeap = [
  // The old generation grows by six tenths of what lives. V8 lets the heap of a server that rests grow by a few MB, and then marks
  // all of it three times a second at a few hundred requests; and of one that is filled it lets it grow to several times what lives.
  '--heap-growing-percent=60',
] as const;

const ofServers = [
  // V8 waits for 3,000 calls, and until nothing new has been learned for 500, before it makes a function's best code: tens of
  // thousands of requests, as each takes several ways.
  '--invocation-count-for-turbofan=800',
  '--minimum-invocations-after-ic-update=100',
  // There is so little of the young generation that waking other threads up costs more than they take over.
  '--no-parallel-scavenge',
] as const;

const set = (flags: readonly string[]): void => {
  for (const flag of flags) setFlagsFromString(flag);
};

/** Not by a flag of the process: under one that its compiled parts were not made under Node compiles all that it loads of itself. */
export function settleHeap(): void {
  set(ofTheHeap);
}

/**
 * Of a few hundred requests a second each would be answered by slow code for minutes. Not from the process's beginning: what a
 * start runs eight hundred times is of no use later, and costs 60 ms of CPU and 10 MB; and a start has both processors to itself.
 */
export function settleEngine(): void {
  settleHeap();
  set(ofServers);
}
