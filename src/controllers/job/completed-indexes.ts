// Sets of completion indexes as text: `0,2-4`.

/** Indexes from 0 to `completions` - 1; what is malformed or beyond is left out, as upstream. */
export function parseIndexes(text: string | undefined, completions: number): Set<number> {
  const result = new Set<number>();
  for (const part of (text ?? '').split(',')) {
    const found = /^([0-9]{1,9})(?:-([0-9]{1,9}))?$/.exec(part);
    if (found === null) continue;
    const last = Math.min(Number(found[2] ?? found[1]), completions - 1);
    for (let index = Number(found[1]); index <= last; index++) result.add(index);
  }
  return result;
}

export function formatIndexes(indexes: ReadonlySet<number>): string {
  const sorted = [...indexes].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let at = 0; at < sorted.length; ) {
    let end = at;
    while (end + 1 < sorted.length && sorted[end + 1] === sorted[end]! + 1) end += 1;
    const [first, last] = [sorted[at]!, sorted[end]!];
    // Two neighbours are shorter with a comma.
    parts.push(first === last ? `${first}` : last === first + 1 ? `${first},${last}` : `${first}-${last}`);
    at = end + 1;
  }
  return parts.join(',');
}
