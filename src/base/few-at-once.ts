// Work on many things, a few of them under way together.

/** Results in order of the items. After a failure none is begun, and it is thrown once nothing is under way any more. */
export async function fewAtOnce<T, R>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  let next = 0;
  async function lane(): Promise<void> {
    try {
      for (let i = next++; i < items.length; i = next++) results[i] = await work(items[i]!);
    } catch (error) {
      next = items.length;
      failures.push(error);
    }
  }
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, lane));
  if (failures.length > 0) throw failures[0];
  return results;
}
