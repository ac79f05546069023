// Equality as upstream's Semantic.DeepEqual: what is absent equals what is empty, order of keys is nothing.

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'object' && Object.values(value).every((field) => field === undefined));

export function semanticEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isEmpty(a) && isEmpty(b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, i) => semanticEqual(item, b[i]));
  }
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)]))
    if (!semanticEqual(left[key], right[key])) return false;
  return true;
}

const withoutZeros = (status: object): object =>
  Object.fromEntries(Object.entries(status).filter(([, value]) => value !== 0));

/** Equality of statuses: a count of zero may be left out of what is stored. */
export const sameStatus = (a: object, b: object | undefined): boolean =>
  semanticEqual(withoutZeros(a), withoutZeros(b ?? {}));
