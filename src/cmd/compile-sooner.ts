// When V8 makes the best code of a function of the server.
import { setFlagsFromString } from 'node:v8';

/** V8 waits for 3,000 calls, and until nothing new has been learned for 500: tens of thousands of requests, as each takes several ways. */
const flags = ['--invocation-count-for-turbofan=800', '--minimum-invocations-after-ic-update=100'] as const;

/**
 * Of a few hundred requests a second each would be answered by slow code for minutes. Not from the process's beginning: what a
 * start runs eight hundred times is of no use later, and costs 60 ms of CPU and 10 MB.
 */
export function compileSooner(): void {
  for (const flag of flags) setFlagsFromString(flag);
}
