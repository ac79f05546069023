// Comparing revisions as texts, as upstream: whole numbers above zero of any length.

const isWellFormed = (text: string): boolean => /^[1-9][0-9]*$/.test(text);

/** Why it is none; undefined when it is one. */
export const resourceVersionError = (text: string): string | undefined =>
  isWellFormed(text) ? undefined : `resource version is not well formed: ${text}`;

/** Below, at or above zero: which of two well-formed ones is older. */
export function compareResourceVersions(a: string, b: string): number {
  for (const text of [a, b]) {
    const error = resourceVersionError(text);
    if (error !== undefined) throw new Error(error);
  }
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}
