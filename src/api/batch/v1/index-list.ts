// Lists of indexes as Jobs write them: `1,3-5`.

type Interval = readonly [from: number, to: number];

/** One part of the list, or why it is none. */
function intervalOf(part: string, completions: number): Interval | string {
  const limits = part.split('-');
  if (limits.length > 2)
    return `the fragment ${JSON.stringify(part)} violates the requirement that an index interval can have at most two parts separated by '-'`;
  for (const limit of limits) {
    if (!/^[+]?[0-9]+$/.test(limit))
      return `cannot convert string to integer for index: ${JSON.stringify(limit)}`;
    if (Number(limit) >= completions) return `too large index: ${JSON.stringify(limit)}`;
  }
  const [from = 0, to = from] = limits.map(Number);
  return limits.length === 2 && from >= to
    ? `non-increasing order, previous: ${from}, current: ${to}`
    : [from, to];
}

/** How many indexes a list names, or why it is no such list. */
export function countIndexes(text: string, completions: number): number | string {
  if (text === '') return 0;
  let last = -1;
  let total = 0;
  for (const part of text.split(',')) {
    const interval = intervalOf(part, completions);
    if (typeof interval === 'string') return interval;
    const [from, to] = interval;
    if (last >= from) return `non-increasing order, previous: ${last}, current: ${from}`;
    total += to - from + 1;
    last = to;
  }
  return total;
}

/** The first index that two lists share; what is no interval in them is passed over. */
export function sharedIndex(some: string, others: string, completions: number): number | undefined {
  const intervals = (text: string): Interval[] =>
    text
      .split(',')
      .map((part) => intervalOf(part, completions))
      .filter((interval) => typeof interval !== 'string');
  const [a, b] = [intervals(some), intervals(others)];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const [[from, to], [otherFrom, otherTo]] = [a[i]!, b[j]!];
    if (from <= otherTo && otherFrom <= to) return Math.max(from, otherFrom);
    if (from <= otherFrom) i++;
    else j++;
  }
  return undefined;
}
