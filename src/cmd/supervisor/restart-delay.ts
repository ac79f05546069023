// How long a process that ended stays down: pure.

/** Who ran for so long was well: the next end counts as the first one. */
export const healthyMs = 10_000;
const firstDelayMs = 250;
const maxDelayMs = 60_000;

/** `failures`: ends without a healthy while between them, this one counted. The first one costs nothing. */
export const restartDelayMs = (failures: number): number =>
  failures <= 1 ? 0 : Math.min(firstDelayMs * 2 ** (failures - 2), maxDelayMs);
