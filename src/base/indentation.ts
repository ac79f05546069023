// How much of a text for people would be nothing but indentation: lists in lists in lists are mostly that.

/** Spaces and line ends that each value may have on an average: that of a value 48 levels deep. */
const perValue = 100;
/** For small objects, whatever their form. */
const free = 4_096;

/** Whether a value is to be laid out over lines; what would grow to fifty times its size and more is not. */
export function isWorthIndenting(value: unknown): boolean {
  const counted: Counted = { values: 0, spaces: 0 };
  count(value, 1, counted);
  return counted.spaces <= free + perValue * counted.values;
}

interface Counted {
  values: number;
  spaces: number;
}

function count(value: unknown, depth: number, counted: Counted): void {
  counted.values++;
  if (typeof value !== 'object' || value === null) return;
  let lines = 0;
  if (Array.isArray(value)) {
    lines = value.length;
    for (const part of value) count(part, depth + 1, counted);
  } else
    for (const key in value) {
      count((value as Record<string, unknown>)[key], depth + 1, counted);
      lines++;
    }
  // each part on a line of its own, and one for the end
  if (lines > 0) counted.spaces += lines * (2 * depth + 1) + 2 * depth - 1;
}
