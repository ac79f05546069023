// Whether what is known of an object is what its status says already.
import { semanticEqual } from '../../apimachinery/equality.ts';

const withoutZeros = (status: object): object =>
  Object.fromEntries(Object.entries(status).filter(([, value]) => value !== 0));

/** Equality of statuses: a count of zero may be left out of what is stored. */
export const sameStatus = (a: object, b: object | undefined): boolean =>
  semanticEqual(withoutZeros(a), withoutZeros(b ?? {}));
