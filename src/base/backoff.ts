// How long to wait before work that failed is tried again: twice as long each time, up to a bound.

export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** `failures`: how many there were in a row, the last among them. */
export const backoffMs = ({ firstMs, longestMs }: Backoff, failures: number): number =>
  Math.min(firstMs * 2 ** Math.max(0, failures - 1), longestMs);
