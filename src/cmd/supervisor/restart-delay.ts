// How long a process that ended stays down: pure.
import { type Backoff, backoffMs } from '../../base/backoff.ts';

/** Who ran for so long was well: the next end counts as the first one. */
export const healthyMs = 10_000;
const backoff: Backoff = { firstMs: 250, longestMs: 60_000 };

/** `failures`: ends without a healthy while between them, this one counted. The first one costs nothing. */
export const restartDelayMs = (failures: number): number =>
  failures <= 1 ? 0 : backoffMs(backoff, failures - 1);
