// Counts how often fields of objects are read: what must not grow with the product of two of a user's lists is seen by that.
import assert from 'node:assert/strict';

export interface CountedReads {
  /** The same object, counted. Who reads more of all of them than allowed fails instead of going on for minutes. */
  of<T extends object>(object: T): T;
  reads(): number;
}

export function countReads(most: number): CountedReads {
  let reads = 0;
  const get = (target: object, field: string | symbol): unknown => {
    reads += 1;
    assert.ok(reads <= most, `more than ${most} reads`);
    return Reflect.get(target, field);
  };
  return { of: <T extends object>(object: T): T => new Proxy<T>(object, { get }), reads: () => reads };
}
